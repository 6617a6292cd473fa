import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MetadataImage } from '../../metadata/image.ts'
import { ShardCluster } from '../../testing/shard-cluster.ts'
import { ComebackInvariants } from './comeback-invariants.ts'

const isRelaxed = (_image: MetadataImage, topic: string) => topic === 'relaxed'

/** Node 1 of three, eligible in a relaxed topic and in one with fsync, comes back; `keeps`: the controller lets it count. */
function comeback(how: { readonly wasClean: boolean; readonly directory?: string; readonly keeps: boolean }): void {
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 }, { id: 3 })
  for (const name of ['relaxed', 'fsync']) {
    const assignments = [{ partitionIndex: 0, brokerIds: [1, 2, 3] }]
    const configs = [
      { name: 'min.insync.replicas', value: '3' },
      // What the controller takes it for: a liar takes all for fsync.
      { name: 'durability.mode', value: how.keeps ? 'fsync' : name },
    ]
    cluster.createTopic(name, { numPartitions: -1, replicationFactor: -1, assignments, configs })
  }
  const invariants = new ComebackInvariants({ comebackOf: () => ({ wasClean: how.wasClean }), isRelaxed })
  invariants.check(cluster.image)
  cluster.lose(1)
  invariants.check(cluster.image)
  cluster.register({ id: 1, ...(how.directory === undefined ? {} : { directory: how.directory }) })
  invariants.check(cluster.image)
}

test('a crash costs a replica of a relaxed topic its place, and one of an fsync topic nothing', () => {
  comeback({ wasClean: false, keeps: false })
})

test('one that counts after a crash in a relaxed topic is found', () => {
  assert.throws(() => comeback({ wasClean: false, keeps: true }), /I9: node 1 .* counts in relaxed-0/)
})

test('after a stop in order all that was there is there', () => {
  comeback({ wasClean: true, keeps: true })
})

test('another disk counts nowhere', () => {
  comeback({ wasClean: true, directory: Buffer.alloc(16, 99).toString('base64url'), keeps: false })
})
