import type { PartitionState } from '../../client/cluster-admin.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { type ClusterFacts, nameOf } from './facts.ts'
import type { PlanNode } from './plan.ts'

/** The partitions that `names` mean: a topic with all of its, or `topic-number` for one. Throws `CommandError`. */
export function partitionsNamed(names: readonly string[], all: readonly PartitionState[]): PartitionState[] {
  const found = names.flatMap((name) => {
    const ofTopic = all.filter(({ topic }) => topic === name)
    const named = ofTopic.length > 0 ? ofTopic : all.filter((each) => nameOf(each) === name)
    if (named.length === 0) throw new CommandError(ExitCode.failed, `there is no topic or partition ${name}`)
    return named
  })
  return [...new Set(found)]
}

/** `1,2,3`. Throws `CommandError` for what is no list of brokers that serve. */
export function nodesNamed(text: string, serving: readonly number[]): number[] {
  const ids = text.split(',').map((part) => {
    const id = Number(part.trim())
    if (part.trim() === '' || !Number.isInteger(id))
      throw new CommandError(ExitCode.usage, `'${part}' is no node id; these are: ${serving.join(', ')}`)
    if (!serving.includes(id)) {
      throw new CommandError(ExitCode.failed, `node ${id} does not serve; these do: ${serving.join(', ')}`)
    }
    return id
  })
  return [...new Set(ids)]
}

/** The brokers, as a plan sees them. */
export function allNodes({ cluster }: ClusterFacts): (PlanNode & { readonly isFenced: boolean })[] {
  return cluster.brokers.map(({ nodeId, rack, host, isFenced }) => ({ nodeId, zone: rack ?? null, host, isFenced }))
}

/** Those that can take copies now. */
export function servingNodes(facts: ClusterFacts): PlanNode[] {
  return allNodes(facts).filter(({ isFenced }) => !isFenced)
}
