import { performance } from 'node:perf_hooks'
import { until } from '../../test/support/process.ts'
import { electPreferred, reassign } from '../../test/support/wire-admin.ts'
import { partitions, type Rig, topic } from './rig.ts'

/** Takes what was measured, in ms, by its name. */
export type Note = (what: string, ms: number) => void
/** One fault at one moment; it is over, and all is in sync again, when this resolves. */
export type Fault = (rig: Rig, note: Note) => Promise<void>

/** The node that leads partition 0; which one that is changes from fault to fault. */
async function leader(rig: Rig): Promise<{ nodeId: number; led: number[]; others: number[] }> {
  const nodeId = await rig.cluster.leaderOf(topic, 0)
  return await shareOf(rig, nodeId)
}

async function shareOf(rig: Rig, nodeId: number): Promise<{ nodeId: number; led: number[]; others: number[] }> {
  const led = await rig.ledBy(nodeId)
  return { nodeId, led, others: partitions.filter((partition) => !led.includes(partition)) }
}

/** Takes the node back into all, and has it lead what it led: the move to it is a planned one. */
async function takeBack(rig: Rig, nodeId: number, led: readonly number[], note: Note): Promise<void> {
  rig.acks.clear()
  const start = performance.now()
  await rig.cluster.restart(nodeId)
  await rig.cluster.inSync(topic, 180_000)
  note('started again to in sync', performance.now() - start)
  await rig.flowing(partitions)
  note('started again: longest gap', rig.longestGap(partitions))
  await moveBack(rig, nodeId, led, note)
}

async function moveBack(rig: Rig, nodeId: number, led: readonly number[], note: Note): Promise<void> {
  await rig.flowing(partitions)
  rig.acks.clear()
  await rig.cluster.ask((wire) => electPreferred(wire, topic, partitions), { callMs: 30_000 })
  await until(`node ${nodeId} leads again`, async () => ((await rig.ledBy(nodeId)).length > 0 ? true : null), {
    timeoutMs: 30_000,
  })
  await rig.flowing(partitions)
  note('planned move: gap', rig.longestGap(led))
}

const kill: Fault = async (rig, note) => {
  const { nodeId, led, others } = await leader(rig)
  rig.acks.clear()
  await rig.cluster.node(nodeId).kill()
  await rig.ledByOthers(nodeId, led)
  await rig.flowing(partitions)
  note('kill -9 of the leader: gap', rig.longestGap(led))
  note('kill -9 of a node: gap of partitions it did not lead', rig.longestGap(others))
  await takeBack(rig, nodeId, led, note)
}

const pause: Fault = async (rig, note) => {
  const { nodeId, led } = await leader(rig)
  rig.acks.clear()
  rig.cluster.pause(nodeId)
  await rig.ledByOthers(nodeId, led)
  await rig.flowing(partitions)
  note('SIGSTOP of the leader: gap', rig.longestGap(led))
  rig.cluster.resume(nodeId)
  await rig.settled()
}

const cut: Fault = async (rig, note) => {
  const { nodeId, led } = await leader(rig)
  rig.acks.clear()
  await rig.cluster.isolate(nodeId)
  await rig.ledByOthers(nodeId, led)
  await rig.flowing(partitions)
  note('cable of the leader cut: gap', rig.longestGap(led))
  await rig.cluster.heal()
  await rig.settled()
}

const controller: Fault = async (rig, note) => {
  const { nodeId, led, others } = await shareOf(rig, await rig.cluster.controller())
  rig.acks.clear()
  const start = performance.now()
  await rig.cluster.node(nodeId).kill()
  await until('another controller', async () => ((await rig.cluster.controller()) === nodeId ? null : true), {
    timeoutMs: 60_000,
    everyMs: 10,
  })
  note('controller killed: until there is another', performance.now() - start)
  await rig.ledByOthers(nodeId, led)
  await rig.flowing(partitions)
  note('controller killed: gap of partitions led elsewhere', rig.longestGap(others))
  await takeBack(rig, nodeId, led, note)
}

const stop: Fault = async (rig, note) => {
  const { nodeId, led } = await leader(rig)
  rig.acks.clear()
  await rig.cluster.node(nodeId).stop()
  await rig.ledByOthers(nodeId, led)
  await rig.flowing(partitions)
  note('leader stopped (SIGTERM): gap', rig.longestGap(led))
  await takeBack(rig, nodeId, led, note)
}

/** The node's copies are given up, as `cluster drain` has it where there are others to take them, and then made anew. */
const drain: Fault = async (rig, note) => {
  const { nodeId, led } = await leader(rig)
  const before = await rig.cluster.describe(topic)
  const placed = (without: number | null) =>
    before.map(({ partition, replicas }) => ({ partition, replicas: replicas.filter((id) => id !== without) }))
  rig.acks.clear()
  await rig.cluster.ask((wire) => reassign(wire, topic, placed(nodeId)), { callMs: 30_000 })
  await rig.ledByOthers(nodeId, led)
  await rig.flowing(partitions)
  note('node drained: longest gap', rig.longestGap(partitions))
  await rig.cluster.ask((wire) => reassign(wire, topic, placed(null)), { callMs: 30_000 })
  const isBack = async () => (await rig.cluster.describe(topic)).every(({ replicas }) => replicas.includes(nodeId))
  await until('all copies are placed again', async () => ((await isBack()) ? true : null), { timeoutMs: 120_000 })
  await rig.cluster.inSync(topic, 180_000)
  await moveBack(rig, nodeId, led, note)
}

/** Each node stopped and started in turn, as an upgrade does, with the preferred leaders elected in between. */
const rolling: Fault = async (rig, note) => {
  rig.acks.clear()
  for (const { place } of rig.cluster.nodes) {
    await rig.cluster.node(place.nodeId).stop()
    await rig.cluster.restart(place.nodeId)
    await rig.settled()
  }
  note('rolling restart: longest gap', rig.longestGap(partitions))
}

/** What batches, the machine and its other work do without any fault. */
const calm: Fault = async (rig, note) => {
  rig.acks.clear()
  for (let second = 0; second < 5; second++) await rig.flowing(partitions)
  note('no fault, five seconds: longest gap', rig.longestGap(partitions))
}

export const faults: Readonly<Record<string, Fault>> = { calm, kill, pause, cut, controller, stop, drain, rolling }
