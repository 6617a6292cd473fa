/**
 * One node whose disk changes bits of what it holds. There is no other copy to repair from, so the node may refuse to
 * serve the damaged partition; it may not serve, or build upon, anything that was not written.
 */
import assert from 'node:assert/strict'
import { DATA_FOLDER } from '../../src/sim/cluster/node-config.ts'
import { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import type { SimNode } from '../../src/sim/cluster/sim-node.ts'
import { STEADY_DISK } from '../../src/sim/disk/disk-faults.ts'
import { assertNoLies } from '../../src/sim/history/check.ts'
import type { Machine } from '../../src/sim/machine.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'
import { Load } from './support/load.ts'

scenario('one node never serves what its disk has changed', { seeds: 100, disk: STEADY_DISK }, async (sim) => {
  const random = sim.streams.workload
  const cluster = new SimCluster(sim, { nodes: 1, settings: { 'offsets.topic.num.partitions': '3' } })
  const [node] = cluster.nodes as [SimNode]
  const load = new Load(sim, cluster)
  const segmentMs = random.pick(['500', '604800000'])
  // Where the index has few entries, more than what the last checkpoint left is looked at after a crash.
  await load.start({ 'segment.ms': segmentMs, 'index.interval.bytes': random.pick(['4096', '1000000']) })
  await sim.runFor(random.float() * 4000)
  const old = recordFiles(node.machine)
  // Damage of what is not below a checkpoint yet cannot be told from a write that a power cut has torn.
  await sim.runFor(CHECKPOINTED_WITHIN_MS)
  const durable = durableOffsets(node)
  if (random.chance(0.7)) node.kill()
  for (let flips = random.between(1, 5); flips > 0; flips--) flipOneBit(sim, node.machine, old)
  await sim.runFor(random.float() * 200)
  if (!node.isRunning) node.start()
  // The group has read the damaged part already. Somebody comes who has not.
  load.addReader()
  const seen = new Set<string>()
  for (const untilMs = sim.nowMs + 3000; sim.nowMs < untilMs; await sim.runFor(2)) assertNothingCut(node, durable, seen)
  assertNoLies(load.history)
})

/** What each partition here has said to be durable. */
function durableOffsets({ node }: SimNode): Map<string, number> {
  const partitions = [...(node?.replicas?.hosted ?? [])]
  return new Map(partitions.map(({ name, log }) => [name, log?.durableOffset ?? 0]))
}

/** S3: a log that is damaged below that is refused, never cut to what is left. Asked when a log is first seen: later it grows. */
function assertNothingCut({ node }: SimNode, before: ReadonlyMap<string, number>, seen: Set<string>): void {
  for (const { name, log } of node?.replicas?.hosted ?? []) {
    if (seen.has(name)) continue
    seen.add(name)
    if (log === null || log.failure !== null) continue
    const durable = before.get(name) ?? 0
    assert.ok(log.endOffset >= durable, `S3: ${name} ends at ${log.endOffset} and is served, durable was ${durable}`)
  }
}

const CHECKPOINTED_WITHIN_MS = 6000

type RecordFile = ReturnType<Machine['files']>[number]

function recordFiles(machine: Machine): RecordFile[] {
  const isRecords = /\/orders-\d+\/\d+\.log$/
  return machine.files(DATA_FOLDER).filter(({ path, bytes }) => isRecords.test(path) && bytes > 0)
}

/** In one of `files`, within the bytes it had then. */
function flipOneBit(sim: Sim, machine: Machine, files: readonly RecordFile[]): void {
  if (files.length === 0) return
  const random = sim.streams.faults
  const { path, bytes } = random.pick(files)
  const position = random.below(bytes)
  // Base offset and leader epoch lie outside the checksum of their batch: few bytes, and the hardest to find out about.
  const inOffset = random.pick([LENGTH_POSITION - 1, random.below(LENGTH_POSITION)])
  const within = random.pick([0, inOffset, inOffset, random.between(EPOCH_POSITION, MAGIC_POSITION - 1)])
  const content = Buffer.alloc(bytes)
  machine.tree.file(path).content.read(content, 0)
  const at = within === 0 ? position : Math.min(startOfBatch(content, position) + within, bytes - 1)
  machine.flipBit(path, at, random.below(8))
}

const LENGTH_POSITION = 8
const EPOCH_POSITION = 12
const MAGIC_POSITION = 16

/** Of the batch that holds `position`, or, behind the damage of an earlier flip, of the last one that is known. */
function startOfBatch(content: Buffer, position: number): number {
  let start = 0
  while (start + MAGIC_POSITION < position) {
    const end = start + EPOCH_POSITION + content.readInt32BE(start + LENGTH_POSITION)
    if (end <= start || end > position) break
    start = end
  }
  return start
}
