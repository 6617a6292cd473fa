import type { Mutant } from './mutant.ts'

const SWARM = 'a cluster of three loses nothing, whatever happens'

const leader = 'partition/leader.ts'
const replicaFetch = 'replica/replica-fetch.ts'

export const REPLICATION_MUTANTS: readonly Mutant[] = [
  {
    name: 'truncate by high watermark',
    scenario: SWARM,
    edits: [
      {
        file: 'partition/follower.ts',
        from: 'const target = whereTheyPart(divergingEpoch, ownEpoch)',
        to: 'const target = this.#highWatermark',
      },
    ],
  },
  {
    name: 'skip epoch fencing on fetch',
    scenario: SWARM,
    edits: [
      {
        file: 'replica/hosted.ts',
        from: 'if (leaderEpoch !== -1 && leaderEpoch !== partition.leaderEpoch) {',
        to: 'if (leaderEpoch < -1) {',
      },
    ],
  },
  {
    name: 'a diverged log served as if it were a prefix',
    scenario: SWARM,
    edits: [
      {
        file: 'replica/fetch-read.ts',
        from: 'if (target.lastFetchedEpoch < 0 || log === null) return null\n  const',
        to: 'if (target.partition >= 0) return null\n  const',
      },
    ],
  },
  {
    name: 'ack before min durable ISR',
    scenario: SWARM,
    edits: [
      {
        file: leader,
        from: 'return counted === null ? endOffset : Math.min(counted, endOffset)',
        to: 'return endOffset',
      },
    ],
  },
  {
    name: 'high watermark rises below min.insync',
    scenario: SWARM,
    edits: [
      { file: leader, from: '    if (this.isUnderMinInsync) return NOTHING\n    let offset', to: '    let offset' },
    ],
  },
  {
    name: 'high watermark uses the fetch offset of a stale incarnation',
    scenario: 'a fetch of an earlier life arrives when its disk has been replaced',
    edits: [
      {
        file: leader,
        from: 'return known !== undefined && (brokerEpoch === -1 || known === brokerEpoch)',
        to: 'return known !== undefined && brokerEpoch >= -1',
      },
      {
        file: leader,
        from: 'if (follower === undefined || input.brokerEpoch < follower.brokerEpoch) return NOTHING',
        to: 'if (follower === undefined) return NOTHING',
      },
      {
        file: replicaFetch,
        from: 'if (replicaEpoch >= 0 && known !== undefined && replicaEpoch < known) return',
        to: 'if (replicaEpoch >= 0 && known !== undefined && replicaEpoch < -1) return',
      },
    ],
  },
  {
    name: "a follower's fetch session drops a partition",
    scenario: 'fetch sessions are thrown out all the time, and no partition starves',
    edits: [
      {
        file: 'replica/replica-session.ts',
        from: '    this.news.add(target)\n    this.waiter?.newsCame()',
        to: '    if (this.waiter !== null) this.news.add(target)\n    this.waiter?.newsCame()',
      },
    ],
  },
  {
    name: "a consumer's fetch session drops a partition",
    scenario: 'a reader with a fetch session sees every partition',
    edits: [
      {
        file: 'replica/fetch-session.ts',
        from: '      news.bytes > 0 ||\n      news.errorCode !== 0 ||',
        to: '      news.errorCode !== 0 ||',
      },
    ],
  },
  {
    name: 'CRC skipped on replicate',
    scenario: 'records whose bits flip on their way to a follower are not taken',
    edits: [
      {
        file: 'storage/log-appender.ts',
        from: 'if (!verifyCrc(batches, at)) throw',
        to: 'if (at < 0) throw',
      },
    ],
  },
  {
    name: 'buffer reused in flight',
    scenario: SWARM,
    edits: [
      {
        file: 'server/connections/client-connection.ts',
        from: '    return () => {\n      letGoBlocks(lent)\n      if (this.#closed) return',
        to: '    letGoBlocks(lent)\n    return () => {\n      if (this.#closed) return',
      },
    ],
  },
]
