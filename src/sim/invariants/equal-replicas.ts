import { assert } from '../../base/assert.ts'
import type { Partition } from '../../replica/partition.ts'
import type { PartitionLog } from '../../storage/partition-log.ts'
import { baseOffset, batchBytes, lastOffset, partitionLeaderEpoch, verifyCrc } from '../../protocol/batch/header.ts'
import { ProducerStates } from '../../storage/producer-states.ts'
import { DATA_FOLDER } from '../cluster/node-config.ts'
import type { SimCluster } from '../cluster/sim-cluster.ts'
import type { SimNode } from '../cluster/sim-node.ts'
import type { Sim } from '../sim.ts'

interface Held {
  readonly node: SimNode
  readonly partition: Partition
  readonly log: PartitionLog
}

const LEVEL_WITHIN_MS = 30_000

/**
 * When nothing is sent any more: all replicas of every partition reach the same end, hold the same bytes (I3), know the same
 * epochs (I4) and producers (I13), and these are what the bytes say.
 */
export async function assertEqualReplicas(sim: Sim, cluster: SimCluster): Promise<void> {
  const isLevel = () => [...partitions(cluster).values()].every(areLevel)
  await sim.until(isLevel, {
    withinMs: LEVEL_WITHIN_MS,
    everyMs: 50,
    what: () => `all replicas are level: ${unlevel(cluster)}`,
  })
  for (const replicas of partitions(cluster).values()) compare(replicas)
}

function partitions(cluster: SimCluster): Map<string, Held[]> {
  const found = new Map<string, Held[]>()
  for (const node of cluster.nodes) {
    for (const partition of node.node?.replicas?.hosted ?? []) {
      const { log, name } = partition
      assert(
        log !== null && log.failure === null,
        `${name} of ${node.machine.name} is offline: ${log?.failure ?? partition.openError}`,
      )
      found.set(name, [...(found.get(name) ?? []), { node, partition, log }])
    }
  }
  return found
}

function areLevel(replicas: readonly Held[]): boolean {
  const { endOffset } = (replicas[0] as Held).log
  return replicas.every(({ log }) => log.endOffset === endOffset && log.durableOffset === endOffset)
}

function unlevel(cluster: SimCluster): string {
  const behind = [...partitions(cluster).values()].filter((replicas) => !areLevel(replicas))
  return behind
    .flatMap((replicas) => replicas.map(({ node, partition }) => `${node.machine.name} ${partition.dump()}`))
    .join('\n')
}

function compare(replicas: readonly Held[]): void {
  const [first, ...others] = replicas.map((held) => ({ ...held, batches: batchesOf(held) }))
  if (first === undefined) return
  for (const other of others) {
    const names = `${first.partition.name} of ${first.node.machine.name} and ${other.node.machine.name}`
    const start = Math.max(first.log.logStartOffset, other.log.logStartOffset)
    const [one, two] = [from(first.batches, start), from(other.batches, start)]
    const index = one.findIndex((bytes, i) => two[i]?.equals(bytes) !== true)
    assert(index < 0 && one.length === two.length, `I3: ${names} differ at ${offsetOf(one[index] ?? two[one.length])}`)
    assert(producersOf(first) === producersOf(other), `I13: ${names}:\n${producersOf(first)}\n${producersOf(other)}`)
  }
  for (const each of [first, ...others]) checkDerived(each)
}

function from(batches: readonly Buffer[], start: number): Buffer[] {
  return batches.filter((bytes) => lastOffset(bytes, 0) >= start)
}

function offsetOf(batch: Buffer | undefined): string {
  return batch === undefined ? 'the end' : `${baseOffset(batch, 0)}`
}

/** From the files, not from what the node thinks is in them. */
function batchesOf({ node, partition }: Held): Buffer[] {
  const folder = `${DATA_FOLDER}/${partition.name}`
  const { tree } = node.machine
  const batches: Buffer[] = []
  for (const name of tree.list(folder).filter((each) => each.endsWith('.log'))) {
    const { content } = tree.file(`${folder}/${name}`)
    const bytes = Buffer.alloc(content.length)
    content.read(bytes, 0)
    for (let at = 0; at < bytes.length; at += batchBytes(bytes, at)) {
      assert(
        verifyCrc(bytes, at),
        `S4: a batch with a wrong checksum at ${at} of ${folder}/${name} of ${node.machine.name}`,
      )
      batches.push(bytes.subarray(at, at + batchBytes(bytes, at)))
    }
  }
  return batches
}

/** Who wrote last, and what: times of expiry differ from node to node. */
function producersOf({ log }: Held): string {
  return print(log.producers)
}

function print(producers: ProducerStates): string {
  const lines = [...producers.entries].map(({ producerId, epoch, batches }) => {
    const last = batches.map(
      ({ lastSequence, lastOffset: offset, offsetDelta }) => `${lastSequence}@${offset}-${offsetDelta}`,
    )
    return `${producerId}/${epoch}: ${last.join(' ')}`
  })
  return lines.sort().join('\n')
}

function checkDerived({ node, partition, log, batches }: Held & { batches: readonly Buffer[] }): void {
  const name = `${partition.name} of ${node.machine.name}`
  const replayed = new ProducerStates()
  for (const bytes of batches) {
    replayed.apply(bytes, 0, 0)
    const [epoch, known] = [partitionLeaderEpoch(bytes, 0), log.epochs.epochAt(baseOffset(bytes, 0))]
    if (baseOffset(bytes, 0) < log.logStartOffset) continue
    assert(epoch === known, `I4: ${name} takes ${baseOffset(bytes, 0)} for one of epoch ${known}, it is of ${epoch}`)
  }
  // Where the log was cut at its start, its producers are known from before.
  if (log.logStartOffset > 0) return
  assert(
    print(replayed) === print(log.producers),
    `I13: ${name} knows\n${print(log.producers)}\nits log says\n${print(replayed)}`,
  )
}
