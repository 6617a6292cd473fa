/**
 * One node under load that is killed, loses its power or is stopped at random instants, again and again, also while it
 * starts. Then it is left alone: everything sent must be acknowledged, read by the group and be there, and no client may
 * ever have seen anything a log does not do.
 */
import { IdempotentProducer } from '../../src/sim/clients/idempotent-producer.ts'
import { readWhole } from '../../src/sim/clients/fetching.ts'
import { GroupMember } from '../../src/sim/clients/group-member.ts'
import { SimCluster, type SimNode } from '../../src/sim/cluster.ts'
import { assertHistory } from '../../src/sim/history/check.ts'
import { History } from '../../src/sim/history/history.ts'
import { nothingUnseen } from '../../src/sim/history/offsets.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'

const TOPIC = 'orders'
const GROUP = 'billing'
const PARTITIONS = 3
const SETTLED_WITHIN_MS = 60_000

type Crash = 'kill' | 'power' | 'stop'

interface Course {
  readonly durability: 'fsync' | 'relaxed'
  readonly crashes: readonly Crash[]
}

scenario('one node loses nothing to crashes and power cuts', { seeds: 300 }, (sim) =>
  run(sim, { durability: 'fsync', crashes: ['kill', 'power', 'power', 'stop'] }),
)

// In the relaxed mode an ack stands for the page cache, which outlives the process.
scenario('one node in the relaxed mode loses nothing to a dying process', { seeds: 200 }, (sim) =>
  run(sim, { durability: 'relaxed', crashes: ['kill', 'kill', 'stop'] }),
)

async function run(sim: Sim, course: Course): Promise<void> {
  const random = sim.streams.workload
  const history = new History()
  const cluster = new SimCluster(sim, {
    brokers: 1,
    settings: {
      'offsets.topic.num.partitions': '3',
      'group.initial.rebalance.delay.ms': random.pick(['0', '500']),
    },
  })
  const [node] = cluster.nodes as [SimNode]
  const admin = cluster.client('admin').client
  await cluster.createTopic(admin, {
    name: TOPIC,
    partitions: PARTITIONS,
    configs: { 'durability.mode': course.durability, 'segment.ms': random.pick(['1000', '604800000']) },
  })
  const producers = await Promise.all(['anna', 'bert'].map((name) => startProducer(cluster, history, name)))
  const members = ['carl', 'dora'].map((name) => startMember(cluster, history, name))

  const clientMachines = sim.machines.filter((machine) => machine !== node.machine)

  // Faults, and load all the while.
  const untilMs = sim.nowMs + random.between(3000, 30_000)
  let isOver = false
  const load = Promise.all(producers.map((producer) => keepSending(sim, producer, () => isOver)))
  while (sim.nowMs < untilMs) {
    await sim.runFor(random.float() * (random.chance(0.3) ? 100 : 3000))
    await crash(sim, node, random.pick(course.crashes), history)
    if (random.chance(0.2)) await trouble(sim, node)
    // A client that stands still for longer than its session, and goes on as if nothing had been.
    if (random.chance(0.2)) random.pick(clientMachines).pause(random.float() * 12_000)
    await sim.runFor(random.float() * 1000)
    node.start()
  }
  isOver = true
  await load

  // Healed: now progress is demanded.
  sim.net.heal()
  const settled = { withinMs: SETTLED_WITHIN_MS }
  await sim.until(() => producers.every(({ pending }) => pending === 0), {
    ...settled,
    what: 'every send is acknowledged',
  })
  await sim.until(() => nothingUnseen(history, GROUP).length === 0, {
    ...settled,
    everyMs: 200,
    what: 'the group has read everything acknowledged',
  })
  await sim.within(Promise.all(members.map((member) => member.stop())), { ...settled, what: 'the members leave' })
  for (let partition = 0; partition < PARTITIONS; partition++) {
    await sim.within(readWhole(admin, history, { topic: TOPIC, partition }), {
      ...settled,
      what: 'reading everything back',
    })
  }
  assertHistory(history)
}

async function startProducer(cluster: SimCluster, history: History, name: string): Promise<IdempotentProducer> {
  const { client } = cluster.client(name)
  const producer = new IdempotentProducer({ name, topic: TOPIC, partitions: PARTITIONS, client, history })
  await producer.start()
  return producer
}

function startMember(cluster: SimCluster, history: History, name: string): GroupMember {
  const { client } = cluster.client(name)
  const member = new GroupMember({ name, group: GROUP, topic: TOPIC, client, history })
  member.start()
  return member
}

/** Sends small batches at an uneven pace, with a bound on what is not acknowledged. */
async function keepSending(sim: Sim, producer: IdempotentProducer, isOver: () => boolean): Promise<void> {
  const random = sim.streams.workload.fork()
  while (!isOver()) {
    if (producer.pending < 200) producer.send(random.below(PARTITIONS), 1 + random.below(random.chance(0.1) ? 50 : 5))
    await sim.runFor(random.float() * (random.chance(0.1) ? 500 : 60))
  }
}

async function crash(sim: Sim, node: SimNode, kind: Crash, history: History): Promise<void> {
  if (kind === 'stop' && node.isServing) {
    await sim.within(node.stop(), { withinMs: SETTLED_WITHIN_MS, what: 'a clean stop' })
    return
  }
  if (kind === 'power') {
    history.powerCut(null)
    node.losePower(sim.streams.faults.pick(['any', 'any', 'all', 'none']))
  } else node.kill()
}

/** Trouble of other kinds, while the node is down or about to come up. */
async function trouble(sim: Sim, node: SimNode): Promise<void> {
  const random = sim.streams.faults
  const { machine } = node
  switch (random.below(4)) {
    case 0:
      machine.stallDisk(random.float() * 3000)
      return
    case 1:
      // Less than the hour by which a record may be ahead of its broker.
      machine.wallOffsetMs = random.between(-3_000_000, 3_000_000)
      return
    case 2: {
      const others = sim.machines.filter((other) => other !== machine)
      const { host } = random.pick(others)
      if (random.chance(0.5)) sim.net.cutLink(host, machine.host)
      if (random.chance(0.5)) sim.net.cutLink(machine.host, host)
      sim.after(random.float() * 3000, () => sim.net.heal())
      return
    }
    default:
      // Up, and down again while it recovers.
      node.start()
      await sim.runFor(random.float() * 50)
      node.kill()
  }
}
