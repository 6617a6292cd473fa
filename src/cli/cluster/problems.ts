import type { LaggardDescription, PartitionState } from '../../client/cluster-admin.ts'
import { counted, formatCount } from '../quantity.ts'
import { type ClusterFacts, nameOf } from './facts.ts'

/** What is wrong, in words and for programs. */
export interface Problem {
  readonly kind: 'quorum' | 'node' | 'disk' | 'no-leader' | 'min-in-sync' | 'out-of-sync'
  /** A topic partition, or a node. */
  readonly about: string
  /** Since when, as far as somebody knows; wall clock. */
  readonly sinceMs: number | null
  readonly text: string
}

/** A voter that has not caught up for so long is no transient. */
const VOTER_LATE_MS = 5000
/** With fewer controllers than this the death of one stops every change. */
const CONTROLLERS_WANTED = 3

/** The gravest first. */
export function problemsOf(facts: ClusterFacts): Problem[] {
  return [
    ...quorumProblems(facts),
    ...nodeProblems(facts),
    ...diskProblems(facts),
    ...facts.partitions.flatMap((each) => partitionProblems(each, facts)),
  ].sort((left, right) => ORDER.indexOf(left.kind) - ORDER.indexOf(right.kind))
}

const ORDER: readonly Problem['kind'][] = ['quorum', 'no-leader', 'min-in-sync', 'node', 'disk', 'out-of-sync']

function quorumProblems({ quorum, cluster, nowMs }: ClusterFacts): Problem[] {
  const problem = (text: string, sinceMs: number | null = null): Problem => {
    return { kind: 'quorum', about: 'quorum', sinceMs, text }
  }
  if (quorum === null)
    return [problem('the controllers have no leader: nothing can be changed, and no failed leader is replaced')]
  const { voters, leaderId } = quorum
  const problems = voters
    .filter(({ nodeId, lastCaughtUpMs }) => nodeId !== leaderId && nowMs - lastCaughtUpMs > VOTER_LATE_MS)
    .map(({ nodeId, lastCaughtUpMs }) => {
      const since = lastCaughtUpMs > 0 ? `for ${duration(nowMs - lastCaughtUpMs)}` : 'since this leader was elected'
      return problem(`controller ${nodeId} has not kept up ${since}`, lastCaughtUpMs > 0 ? lastCaughtUpMs : null)
    })
  const hasEnoughNodes = cluster.brokers.length >= CONTROLLERS_WANTED
  if (hasEnoughNodes && voters.length < CONTROLLERS_WANTED) {
    problems.push(
      problem(`only ${counted(voters.length, 'controller')}: the death of one stops every change of the cluster`),
    )
  }
  return problems
}

function nodeProblems(facts: ClusterFacts): Problem[] {
  const unreached = facts.unreached.map((nodeId): Problem => {
    const text = `node ${nodeId} does not answer from here: it has just died, or clients on this machine cannot reach its address`
    return { kind: 'node', about: String(nodeId), sinceMs: null, text }
  })
  return [...fencedProblems(facts), ...unreached]
}

function fencedProblems({ cluster, quorum, partitions, nowMs }: ClusterFacts): Problem[] {
  return cluster.brokers
    .filter(({ isFenced }) => isFenced)
    .map(({ nodeId }) => {
      const seen = [...(quorum?.voters ?? []), ...(quorum?.observers ?? [])].find((each) => each.nodeId === nodeId)
      const sinceMs = seen !== undefined && seen.lastFetchMs > 0 ? seen.lastFetchMs : null
      const copies = partitions.filter(({ replicas }) => replicas.includes(nodeId)).length
      const heard = sinceMs === null ? '' : `, last heard ${duration(nowMs - sinceMs)} ago`
      const text = `node ${nodeId} does not serve${heard}: ${counted(copies, 'partition')} without its copy`
      return { kind: 'node', about: String(nodeId), sinceMs, text }
    })
}

function diskProblems({ cluster, partitions }: ClusterFacts): Problem[] {
  return cluster.brokers.filter(isFull).map(({ nodeId }) => {
    const leads = partitions.filter(({ leader }) => leader === nodeId).length
    const refuses =
      leads === 0 ? '' : `; ${counted(leads, 'partition')} that no other copy could take over can only be read`
    const text = `the disk of node ${nodeId} is full: its copies get no records until there is room${refuses}`
    return { kind: 'disk', about: String(nodeId), sinceMs: null, text }
  })
}

function isFull({ isFull, isFenced }: ClusterFacts['cluster']['brokers'][number]): boolean {
  return isFull && !isFenced
}

function partitionProblems(state: PartitionState, facts: ClusterFacts): Problem[] {
  const name = nameOf(state)
  const { leader, isr, replicas, eligible, topic } = state
  if (leader < 0) {
    const holders = isr.length > 0 ? isr : eligible
    const whose = holders.length === 0 ? 'no copy is known to be complete' : `waits for ${nodes(holders)}`
    return [{ kind: 'no-leader', about: name, sinceMs: null, text: `${name} has no leader: ${whose}` }]
  }
  const problems: Problem[] = []
  const wanted = facts.minInSync.get(topic) ?? 1
  if (isr.length < wanted) {
    const text = `${name} refuses acks=all: ${isr.length} of ${counted(replicas.length, 'copy', 'copies')} in sync, min.insync.replicas is ${wanted}`
    problems.push({ kind: 'min-in-sync', about: name, sinceMs: null, text })
  }
  const told = new Set(facts.cluster.brokers.filter((each) => each.isFenced || each.isFull).map(({ nodeId }) => nodeId))
  const beingAdded = facts.reassignments.find((each) => nameOf(each) === name)?.adding ?? []
  for (const nodeId of replicas) {
    // What is told of the node is not told again of each of its partitions.
    if (isr.includes(nodeId) || told.has(nodeId) || beingAdded.includes(nodeId)) continue
    if (state.offline.includes(nodeId)) {
      const text = `${name}: the copy on node ${nodeId} is out of use, its log is damaged or its disk has failed`
      problems.push({ kind: 'disk', about: name, sinceMs: null, text })
      continue
    }
    const laggard = state.laggards.find((each) => each.nodeId === nodeId)
    const sinceMs = laggard?.sinceMs ?? null
    problems.push({ kind: 'out-of-sync', about: name, sinceMs, text: outOfSync(name, nodeId, laggard, facts.nowMs) })
  }
  return problems
}

/** `orders-3: node 2 left the ISR 41 s ago, 4.2 s behind` */
function outOfSync(name: string, nodeId: number, laggard: LaggardDescription | undefined, nowMs: number): string {
  if (laggard === undefined) return `${name}: node ${nodeId} is not in sync`
  const left = `${name}: node ${nodeId} left the ISR ${duration(nowMs - laggard.sinceMs)} ago`
  if (laggard.isSilent) return `${left}, and has not asked for records since`
  const records = `${formatCount(laggard.behindRecords)} records`
  return laggard.behindMs < 0
    ? `${left}, ${records} behind`
    : `${left}, ${duration(laggard.behindMs)} behind (${records})`
}

function nodes(ids: readonly number[]): string {
  return `node${ids.length === 1 ? '' : 's'} ${ids.join(', ')}`
}

/** `4.2 s`, `41 s`, `3 min`, `2 h`, `5 d` */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} d`
}
