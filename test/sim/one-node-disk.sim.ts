/**
 * One node on a disk that fails: syncs that fail once and then seem to work, writes and reads that fail, a disk that is
 * full for a while, no descriptors left. The node may refuse, and it may stop; started again on a sound disk it must have
 * everything it ever acknowledged.
 */
import type { DiskFault } from '../../src/sim/disk/disk-faults.ts'
import { NO_TOPIC_ID } from '../../src/model/ids.ts'
import { DeleteTopics } from '../../src/protocol/apis/delete-topics.ts'
import { ErrorCode } from '../../src/protocol/errors.ts'
import type { ClusterClient } from '../../src/sim/clients/cluster-client.ts'
import { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'
import { Load } from './support/load.ts'

const RESTART_AFTER_MS = 200

scenario('one node on a failing disk refuses rather than loses', { seeds: 200 }, async (sim) => {
  const random = sim.streams.workload
  const cluster = new SimCluster(sim, {
    nodes: 1,
    settings: { 'offsets.topic.num.partitions': '3', 'group.initial.rebalance.delay.ms': '0' },
    // As a service manager would.
    onGivenUp: (node) => sim.after(RESTART_AFTER_MS, () => startUnlessRunning(node)),
  })
  const [node] = cluster.nodes as [SimNode]
  const load = new Load(sim, cluster)
  await load.start({ 'segment.ms': random.pick(['500', '604800000']) })

  for (let round = random.between(2, 6); round > 0; round--) {
    await sim.runFor(random.float() * 2000)
    await breakDisk(sim, node)
    node.machine.diskState.faults.clear()
    if (random.chance(0.5)) node.kill()
    else node.losePower(random.pick(['any', 'all', 'none']))
    await sim.runFor(random.float() * 500)
    startUnlessRunning(node)
  }
  await load.settleAndJudge()
})

function startUnlessRunning(node: SimNode): void {
  if (!node.isRunning) node.start()
}

const FAILURES: readonly DiskFault[] = [
  { operation: 'sync', code: 'EIO' },
  { operation: 'sync', pathEnd: '.log', code: 'EIO' },
  { operation: 'syncDirectory', code: 'EIO' },
  { operation: 'write', code: 'EIO' },
  { operation: 'write', pathEnd: '.log', code: 'EIO' },
  { operation: 'read', code: 'EIO' },
  { operation: 'name', code: 'EIO' },
  { operation: 'open', code: 'EIO' },
]

/** Breaks the disk in one way, lets the node live with it for a while, and makes it sound again. */
async function breakDisk(sim: Sim, { machine }: SimNode): Promise<void> {
  const random = sim.streams.faults
  const forMs = random.float() * 3000
  switch (random.below(3)) {
    case 0: {
      machine.failDisk({ ...random.pick(FAILURES), times: random.pick([1, 1, 3, 1000]) })
      await sim.runFor(forMs)
      return
    }
    case 1:
      machine.leaveRoom(random.below(20_000))
      await sim.runFor(forMs)
      machine.leaveRoom(Number.POSITIVE_INFINITY)
      return
    default:
      machine.diskState.openFilesMax = random.below(30)
      await sim.runFor(forMs)
      machine.diskState.openFilesMax = Number.POSITIVE_INFINITY
  }
}

scenario('one node without room or descriptors for a while goes on by itself', { seeds: 200 }, async (sim) => {
  const random = sim.streams.workload
  const cluster = new SimCluster(sim, {
    nodes: 1,
    settings: { 'offsets.topic.num.partitions': '3', 'group.initial.rebalance.delay.ms': '0' },
  })
  const [{ machine }] = cluster.nodes as [SimNode]
  const load = new Load(sim, cluster)
  await load.start({ 'segment.ms': random.pick(['500', '604800000']) })
  const topics = new TopicChurn(sim, cluster)
  for (let round = random.between(2, 6); round > 0; round--) {
    await sim.runFor(random.float() * 2000)
    if (random.chance(0.5)) machine.leaveRoom(random.below(20_000))
    else machine.diskState.openFilesMax = random.below(30)
    await sim.runFor(random.float() * 3000)
    machine.leaveRoom(Number.POSITIVE_INFINITY)
    machine.diskState.openFilesMax = Number.POSITIVE_INFINITY
  }
  await topics.stop()
  await load.settleAndJudge()
})

/** Topics of two names that come and go all the while. Whatever the answers are, in the end each can be made and unmade. */
class TopicChurn {
  readonly #sim: Sim
  readonly #cluster: SimCluster
  readonly #client: ClusterClient
  #isOver = false
  readonly #done: Promise<void>

  constructor(sim: Sim, cluster: SimCluster) {
    this.#sim = sim
    this.#cluster = cluster
    this.#client = cluster.client('admin-2').client
    this.#done = this.#run()
  }

  async #run(): Promise<void> {
    const random = this.#sim.streams.workload
    while (!this.#isOver) {
      const name = random.pick(['here', 'there'])
      if (random.chance(0.5)) await this.#cluster.createTopic(this.#client, { name, partitions: random.between(1, 3) })
      else await this.#delete(name)
      await this.#sim.runFor(random.float() * 500)
    }
  }

  async #delete(name: string): Promise<void> {
    const body = { topics: [{ name, topicId: NO_TOPIC_ID }], timeoutMs: 10_000 }
    await this.#client.persist(async () => {
      const answer = await (await this.#client.any()).request(DeleteTopics, body, { fromVersion: 6 })
      const errorCode = answer.responses[0]?.errorCode ?? 0
      return errorCode === 0 || errorCode === ErrorCode.UNKNOWN_TOPIC_OR_PARTITION ? true : null
    })
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#sim.within(this.#done, { withinMs: 60_000, what: 'what was asked of topics is done' })
    for (const name of ['here', 'there']) {
      const again = this.#cluster.createTopic(this.#client, { name, partitions: 1 }).then(() => this.#delete(name))
      await this.#sim.within(again, { withinMs: 60_000, what: `${name} is made and unmade` })
    }
  }
}
