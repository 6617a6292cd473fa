/**
 * What the disks of controllers may do: be replaced, come back from a backup, lie about votes and records (scenarios 23, 26,
 * 27, 30, 36, 37). A voter is its number and its disk, and what is committed is on a majority of these.
 */
import assert from 'node:assert/strict'
import { ErrorCode, isRetriable } from '../../src/protocol/errors.ts'
import { DATA_FOLDER } from '../../src/sim/cluster/node-config.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { someMs } from '../../src/sim/faults/fault.ts'
import { decodeCheckpoint } from '../../src/storage/checkpoint-text.ts'
import { RECOVERY_POINTS } from '../../src/storage/file-names.ts'
import type { ClusterRun } from './support/cluster-run.ts'
import { clusterScenario } from './support/cluster-scenario.ts'

const METADATA_FOLDER = `${DATA_FOLDER}/__cluster_metadata-0`
const APART = { run: { nodes: 6, controllers: 3, zones: 0 } }
/** As long as a disk may stand still, and then some: checkpoints come every five seconds otherwise. */
const CHECKPOINTED_WITHIN_MS = 40_000

// Scenario 30
clusterScenario(
  'one loses power while the two others stand still, and these begin with what they knew before',
  {},
  async (run, sim) => {
    const random = sim.streams.faults
    const { leader } = run
    const [first, second] = random.chance(0.5) ? run.followers : (run.followers.toReversed() as [SimNode, SimNode])
    first.machine.pause(5000 + random.float() * 7000)
    await run.until(() => !run.isr.includes(first.nodeId), 'the first has left the ISR')
    const before = run.acknowledged
    await run.until(() => run.acknowledged > before, 'records that the first has not are acknowledged')
    second.machine.pause(someMs(random, 100, 6000))
    await run.forAWhile()
    leader.losePower('any')
    await run.failedOver(leader)
  },
)

// Scenario 23
clusterScenario(
  'controllers get empty disks one after the other, and nothing that was decided is lost',
  { run: (sim) => (sim.streams.workload.chance(0.5) ? APART.run : {}) },
  async (run) => {
    const topics: string[] = []
    for (const node of run.controllers) {
      const before = directoryOf(node)
      node.losePower('any')
      await run.until(() => ![null, node].includes(run.cluster.activeController), 'the others decide')
      // A broker proves by its registration that its number is nobody else's. For a mere controller its operator has to.
      if (!run.cluster.brokers.includes(node)) await removeVoter(run, node, before)
      await run.replaceDisk(node)
      const votes = run.cluster.activeController?.node?.quorum?.facts.voters
      assert.equal(votes?.has({ id: node.nodeId, directoryId: directoryOf(node) }), true, 'the new disk votes')
      assert.equal(votes?.has({ id: node.nodeId, directoryId: before }), false, 'the old one does not')
      topics.push(`after-${node.nodeId}`)
      await run.createTopic(`after-${node.nodeId}`)
      for (const topic of topics) assert.ok(run.cluster.image?.topicsByName.has(topic), `${topic} is there`)
    }
  },
)

/** As an operator does: again, while the controllers are still at another change of theirs. */
async function removeVoter({ sim, cluster }: ClusterRun, { nodeId }: SimNode, directoryId: string): Promise<void> {
  const body = { clusterId: null, voterId: nodeId, voterDirectoryId: directoryId }
  for (let tries = 0; tries < 20; tries++) {
    const answer = cluster.activeController?.node?.quorum?.answer({ api: 'RemoveRaftVoter', body }, 0, 'CONTROLLER')
    const told = answer && (await sim.within(answer, { withinMs: 10_000, what: 'the voter is removed' }))
    if (told?.body.errorCode === ErrorCode.NONE) return
    assert.ok(told === undefined || isRetriable(told.body.errorCode), `refused: ${told?.body.errorCode}`)
    await sim.runFor(500)
  }
  assert.fail('the voter is not removed in twenty tries')
}

// Scenario 23, in the wrong order
clusterScenario(
  'two of three controllers with empty disks decide nothing, and with their old disks all is there',
  APART,
  async (run, sim) => {
    await run.createTopic('before')
    await run.until(() => run.cluster.nodes.every((node) => knows(node, 'before')), 'all know the topic')
    const lost = run.controllers.slice(0, 2)
    const images = lost.map((node) => {
      node.losePower('any')
      return node.machine.takeImage()
    })
    const others = run.cluster.nodes.filter((node) => !lost.includes(node))
    // Not all need have heard of it at the moment of the cut.
    const knew = others.filter((node) => knows(node, 'before'))
    for (const node of lost) {
      node.replaceDisk(others)
      node.start()
    }
    await sim.runFor(5000)
    assert.equal(run.cluster.activeController, null, 'two disks that promised nothing are no majority')
    assert.ok(
      knew.every((node) => knows(node, 'before')),
      'nobody forgets a topic',
    )
    lost.forEach((node, index) => {
      node.losePower('any')
      node.machine.restoreImage(images[index] as (typeof images)[number])
    })
    for (const node of lost) node.start()
    await run.cluster.settled()
    await run.createTopic('after')
    assert.ok(run.cluster.image?.topicsByName.has('before'))
  },
)

// Scenario 26
clusterScenario('a controller whose vote is damaged refuses to start, and is replaced', {}, async (run, sim) => {
  const random = sim.streams.faults
  const [node] = run.controllers as [SimNode]
  const path = `${METADATA_FOLDER}/quorum-state`
  node.losePower('any')
  const whole = node.machine.contentOf(path)
  switch (random.below(4)) {
    case 0:
      node.machine.flipBit(path, random.below(whole.length), random.below(7))
      break
    case 1:
      node.machine.replaceContent(path, whole.subarray(0, random.below(whole.length)))
      break
    case 2:
      node.machine.replaceContent(path, Buffer.alloc(whole.length))
      break
    default:
      node.machine.loseName(path)
  }
  await run.refuses(node, /quorum-state/)
  await run.replaceDisk(node)
})

// Scenario 27
clusterScenario(
  'a controller whose metadata is damaged cannot lead, whatever it has; no topic and no file is deleted',
  {},
  async (run, sim) => {
    const [node, ...others] = run.controllers as [SimNode, SimNode, SimNode]
    await run.createTopic('kept')
    // Damage of what is not below a checkpoint yet cannot be told from a write that a power cut has torn.
    const known = node.node?.quorum?.image.position.offset ?? 0
    const isCovered = () => metadataRecoveryPoint(node) > known
    await run.until(isCovered, 'its checkpoint covers what it knows', CHECKPOINTED_WITHIN_MS)
    // The damaged one has most of the log.
    for (const other of others) other.losePower('any')
    await run.forAWhile()
    node.losePower('any')
    const logs = node.machine.files(METADATA_FOLDER).filter(({ path, bytes }) => path.endsWith('.log') && bytes > 0)
    const { path } = logs[0] as (typeof logs)[number]
    node.machine.flipBit(path, sim.streams.faults.below(500), sim.streams.faults.below(8))
    const files = node.machine
      .files(DATA_FOLDER)
      .map((file) => file.path)
      .filter(isRecords)
    await run.refuses(node, /__cluster_metadata/)
    for (const other of others) other.start()
    await run.until(() => run.cluster.activeController !== null, 'the other two decide')
    await run.until(() => others.every((other) => knows(other, 'kept')), 'they know all topics')
    const left = new Set(node.machine.files(DATA_FOLDER).map((file) => file.path))
    assert.deepEqual(
      files.filter((file) => !left.has(file)),
      [],
      'what lies on its disk is kept',
    )
    await run.replaceDisk(node)
  },
)

/** What its disk says of the metadata log; 0 while that is nothing. */
function metadataRecoveryPoint({ machine }: SimNode): number {
  const path = `${DATA_FOLDER}/${RECOVERY_POINTS}`
  if (!machine.files(DATA_FOLDER).some((file) => file.path === path)) return 0
  const entries = decodeCheckpoint(machine.contentOf(path), 3)
  return Number(entries.find(([topic]) => topic === '__cluster_metadata')?.[2] ?? 0)
}

function isRecords(path: string): boolean {
  return /\/(orders|kept)-\d+\/\d+\.log$/.test(path)
}

function knows({ node }: SimNode, topic: string): boolean {
  return node?.quorum?.image.topicsByName.has(topic) === true
}

function directoryOf({ node }: SimNode): string {
  return node?.logs?.metaProperties.directoryId ?? ''
}
