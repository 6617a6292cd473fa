/**
 * Replicas that come back to a history without them: everything deleted meanwhile, given up in an unclean election, under
 * another topic of the same name; and consumers that read from any of them (scenarios 9, 17, 19, 28).
 */
import assert from 'node:assert/strict'
import type { TopicId } from '../../src/model/ids.ts'
import { Fetch } from '../../src/protocol/apis/fetch.ts'
import { ErrorCode, isRetriable } from '../../src/protocol/errors.ts'
import { readFromReplicas } from '../../src/sim/clients/replica-reader.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { someMs } from '../../src/sim/faults/fault.ts'
import type { ClusterRun } from './support/cluster-run.ts'
import { clusterScenario } from './support/cluster-scenario.ts'
import { askById, fill, idsIn } from './support/topic-content.ts'

const APART = { nodes: 6, controllers: 3, zones: 0 }

// Scenario 9
clusterScenario(
  'a partition whose only copy in sync is gone waits, and gives its records up only when it is told to',
  { run: { ...APART, minInsync: 1, mayLose: true } },
  async (run, sim) => {
    const { leader, followers } = run
    const { history } = run.load
    const mayLoseFrom = history.moment()
    for (const node of followers) node.kill()
    await run.until(() => run.isr.length === 1, 'the leader is alone')
    const before = run.acknowledged
    await run.until(() => run.acknowledged > before, 'it acknowledges alone')
    leader.losePower('any')
    for (const node of followers) node.start()
    await run.until(() => followers.every(({ isServing }) => isServing), 'the others are back')
    await run.until(() => run.partition?.leader === -1, 'the death of the leader is noticed')
    await sim.runFor(someMs(sim.streams.faults, 100, 10_000))
    const { partition } = run
    assert.equal(partition?.leader, -1, `nobody leads who may lack what was acknowledged: ${JSON.stringify(partition)}`)
    history.powerCut(mayLoseFrom)
    await run.until(
      () => followers.some(({ nodeId }) => run.cluster.image?.broker(nodeId)?.fenced === false),
      'one is there',
    )
    let told: number | null = null
    while (told === null) told = await run.operator.elect('orders', 0, 'unclean')
    // Asked again, because no answer came, it may find it done.
    assert.ok([0, ErrorCode.ELECTION_NOT_NEEDED].includes(told), `elected: ${told}`)
    await run.failedOver(leader)
    assert.ok(
      (run.partition?.leaderEpoch ?? 0) > (partition?.leaderEpoch ?? 0),
      'by the epoch clients see that there was an election',
    )
  },
)

// Scenario 17
clusterScenario(
  'a follower comes back when all it had was deleted elsewhere, and begins where its leader does',
  { run: { ...APART, configs: { 'segment.ms': '500' } } },
  async (run, sim) => {
    const [away] = run.followers
    const end = logOf(away)?.endOffset ?? 0
    if (sim.streams.faults.chance(0.5)) away.kill()
    else away.losePower('any')
    for (let changes = sim.streams.faults.below(3); changes > 0; changes--) {
      const { leader } = run
      leader.kill()
      leader.start()
      await run.failedOver(leader)
    }
    // What the group has read may go.
    await run.until(() => readTo(run) > end, 'the group has read what the follower has not', 60_000)
    const before = readTo(run)
    run.load.history.deletions.push({ partition: 'orders-0', before, invoked: run.load.history.moment() })
    await run.until(() => run.cluster.leaderOf('orders', 0) !== null, 'somebody leads')
    for (let done: number | null = null; done !== 0; await sim.runFor(50)) {
      done = await run.operator.deleteRecords('orders', 0, before)
    }
    away.start()
    await run.until(() => run.isr.includes(away.nodeId), 'it is in sync again')
    assert.equal(logOf(away)?.logStartOffset, logOf(run.leader)?.logStartOffset)
    // As many batches of each producer as a log remembers, for replicas to agree on.
    await sim.runFor(3000)
  },
)

/** Where the group goes on, whatever becomes of its members. */
function readTo({ load }: ClusterRun): number {
  return Math.max(0, ...load.history.commits.filter(({ outcome }) => outcome === 'acked').map(({ offset }) => offset))
}

function logOf({ node }: SimNode) {
  return [...(node?.replicas?.hosted ?? [])].find(({ name }) => name === 'orders-0')?.log
}

// Scenario 19
clusterScenario(
  'who reads from followers sees what is committed and nothing else, and is never told that it is out of range',
  {},
  async (run, sim) => {
    const random = sim.streams.faults
    const { history } = run.load
    for (const name of ['near', 'far']) {
      const { client } = run.cluster.client(name)
      void readFromReplicas(client, history, { name, topic: 'orders', partition: 0 })
    }
    for (let changes = random.between(2, 5); changes > 0; changes--) {
      const [lagging] = run.followers
      if (random.chance(0.5)) lagging.machine.stallDisk(someMs(random, 50, 4000))
      else
        run.world.healLater(sim.net.cutBetween(lagging.machine.host, run.leader.machine.host), someMs(random, 50, 4000))
      await run.forAWhile()
      const { leader } = run
      if (random.chance(0.5)) leader.kill()
      else leader.losePower('any')
      await run.failedOver(leader)
      leader.start()
      await run.cluster.settled()
    }
  },
)

// Found by scenario 28
clusterScenario(
  'a leader that was cut off calls nothing out of range that a later leader has given',
  { run: APART },
  async (run, sim) => {
    const { leader } = run
    // A client of long ago, without epochs, that was sent to this leader.
    const { client } = run.cluster.client('stray')
    const { topicId } = await client.persist(() => client.refresh('orders'))
    for (const { machine } of run.cluster.nodes) {
      if (machine !== leader.machine) sim.net.cutBetween(leader.machine.host, machine.host)
    }
    await run.failedOver(leader)
    const end = logOf(leader)?.endOffset ?? 0
    await run.until(() => (logOf(run.leader)?.endOffset ?? 0) > end + 200, 'the later leader has more', 60_000)
    const errors = new Set<number>()
    for (let tries = 0; tries < 20; tries++) {
      const partitions = [{ partition: 0, fetchOffset: end + 200, partitionMaxBytes: 1000, currentLeaderEpoch: -1 }]
      const body = {
        maxWaitMs: 10,
        minBytes: 1,
        topics: [{ topic: 'orders', topicId, partitions }],
        forgottenTopicsData: [],
      }
      const answer = await client.tolerate(async () => (await client.wireToNode(leader.nodeId)).request(Fetch, body))
      if (answer !== null) errors.add(answer.responses[0]?.partitions[0]?.errorCode ?? 0)
      // Half way through it hears again, and finds out.
      if (tries === 10) sim.net.heal()
      await sim.runFor(sim.streams.faults.float() * 100)
    }
    assert.ok(errors.size > 0 && !errors.has(ErrorCode.OFFSET_OUT_OF_RANGE), `told ${[...errors].join()}`)
  },
)

// Scenario 28, while it has not heard
clusterScenario(
  'a broker that only clients can reach, and whose topic was made anew, tells nothing of the first under the id of the second',
  { run: APART },
  async (run, sim) => {
    const random = sim.streams.faults
    await run.createTopic('again')
    await fill(run, 'again', 'first')
    const first = topicIdOf(run, 'again') as TopicId
    const away = run.cluster.leaderOf('again', 0) ?? random.pick(run.cluster.brokers)
    const { client } = run.cluster.client('asker')
    await client.persist(() => client.refresh('again'))
    for (const { machine } of run.cluster.nodes) {
      if (machine !== away.machine) sim.net.cutBetween(away.machine.host, machine.host)
    }
    for (let done: number | null = null; done !== 0 && done !== ErrorCode.UNKNOWN_TOPIC_ID; await sim.runFor(100)) {
      done = await run.operator.deleteTopic(null, first)
    }
    for (let done: number | null = null; done !== 0 && done !== ErrorCode.TOPIC_ALREADY_EXISTS; await sim.runFor(100)) {
      done = await run.operator.createTopic('again', 2)
    }
    await run.until(() => ![first, undefined].includes(topicIdOf(run, 'again')), 'the second is known')
    const second = topicIdOf(run, 'again') as TopicId
    const hasHeard = () => away.node?.image.topic('again')?.topicId === second
    assert.ok(!hasHeard(), 'it cannot have heard')
    const from = { client, nodeId: away.nodeId, topic: 'again' }
    for (let tries = 0; !hasHeard(); tries++) {
      // Half way through it hears again, and finds out.
      if (tries === 10) sim.net.heal()
      const { ids, errorCode } = await askById(from, second)
      assert.ok(ids.length === 0, `under the id of the second it told ${ids.join()}`)
      if (tries < 10) assert.ok(isRetriable(errorCode), `told ${errorCode}`)
      const before = await askById(from, first)
      assert.ok(before.ids.every((id) => id.startsWith('first-')))
      await sim.runFor(random.float() * 50)
      assert.ok(tries < 1000, 'it hears')
    }
    await run.cluster.settled()
    await fill(run, 'again', 'second')
  },
)

function topicIdOf({ cluster }: ClusterRun, topic: string): TopicId | undefined {
  return cluster.image?.topic(topic)?.topicId
}

// Scenario 28
clusterScenario(
  'a broker that hears nothing for long finds another topic under the name it knew: nothing of the first is in it',
  { run: APART },
  async (run, sim) => {
    const random = sim.streams.faults
    await run.createTopic('again')
    await fill(run, 'again', 'first')
    const first = topicIdOf(run, 'again') as TopicId
    const away = random.pick(run.cluster.brokers)
    if (random.chance(0.3)) away.machine.pause(someMs(random, 4000, 60_000))
    else sim.net.isolate(away.machine.host)
    await run.forAWhile()
    // By its id: by the name, a request that waits in the broker that stands still would delete the second one.
    for (let done: number | null = null; done !== 0 && done !== ErrorCode.UNKNOWN_TOPIC_ID; ) {
      done = await run.operator.deleteTopic(null, first)
    }
    await run.forAWhile()
    for (let done: number | null = null; done !== 0 && done !== ErrorCode.TOPIC_ALREADY_EXISTS; await sim.runFor(100)) {
      done = await run.operator.createTopic('again', random.pick([2, 3]))
    }
    if (random.chance(0.5)) await sim.runFor(someMs(random, 1000, 60_000))
    sim.net.heal()
    if (random.chance(0.3)) await run.forAWhile()
    await run.cluster.settled()
    await fill(run, 'again', 'second')
    const second = topicIdOf(run, 'again')
    // It is let serve by its heartbeats, and until it hears of the second it tells of the first to who asks by the name.
    const hasHeard = ({ node }: SimNode) => node?.image.topic('again')?.topicId === second
    // One that stands still has not been missed yet, perhaps, and does so for up to a minute.
    await run.until(() => run.cluster.brokers.every(hasHeard), 'all have heard of the second', 80_000)
    assert.deepEqual(
      await idsIn(run, 'again'),
      Array.from({ length: 20 }, (_, i) => `second-${i + 1}`),
    )
  },
)
