import { DeleteGroups } from '../../../src/protocol/apis/delete-groups.ts'
import { DescribeGroups } from '../../../src/protocol/apis/describe-groups.ts'
import { ListGroups } from '../../../src/protocol/apis/list-groups.ts'
import { OffsetCommit } from '../../../src/protocol/apis/offset-commit.ts'
import { OffsetDelete } from '../../../src/protocol/apis/offset-delete.ts'
import { OffsetFetch } from '../../../src/protocol/apis/offset-fetch.ts'
import type { Model } from '../model.ts'
import { Learned, type Step } from '../step.ts'

export function offsetCommit(model: Model): Step[] {
  const { random } = model
  const topics = model.topicsOnce(random.pick([1, 1, 2, 0])).map((topic) => {
    const partitions = model.partitionsOnce(topic, random.pick([1, 1, 2])).map((partitionIndex) => {
      return {
        partitionIndex,
        committedOffset: model.offset(topic, partitionIndex),
        committedLeaderEpoch: model.leaderEpoch(),
        committedMetadata: random.chance(0.9) ? random.pick(['', 'm', null]) : 'x'.repeat(random.pick([4096, 4097])),
      }
    })
    return { name: topic.name, topicId: model.topicId(topic), partitions }
  })
  const body = { ...committer(model), retentionTimeMs: random.pick([-1, -1, 1_000_000, 0]), topics }
  return [{ api: OffsetCommit, version: model.version(OffsetCommit), body }]
}

function committer(model: Model) {
  const { random } = model
  const groupId = model.group()
  const outside = { groupId, generationIdOrMemberEpoch: -1, memberId: '', groupInstanceId: null }
  if (model.members.length === 0 || random.chance(0.35)) {
    if (random.chance(0.85)) return outside
    return {
      ...outside,
      ...random.pick([{ memberId: 'x' }, { generationIdOrMemberEpoch: 1 }, { groupInstanceId: 'i0' }]),
    }
  }
  const member = random.pick(model.members)
  const plus = random.chance(0.9) ? 0 : random.pick([1, -1])
  return {
    groupId: member.group,
    generationIdOrMemberEpoch: new Learned(`generation ${member.key}`, -1, plus),
    memberId: random.chance(0.93) ? new Learned(`id ${member.key}`, '') : random.pick(['', 'nobody']),
    groupInstanceId: random.chance(0.9) ? member.instanceId : 'i0',
  }
}

export function offsetFetch(model: Model): Step[] {
  const { random } = model
  const topics = () =>
    random.chance(0.3)
      ? null
      : model.topicsOnce(random.pick([1, 1, 2, 0])).map((topic) => {
          const partitionIndexes = model.partitionsOnce(topic, random.between(0, 3))
          return { name: topic.name, topicId: model.topicId(topic), partitionIndexes }
        })
  const groups = Array.from({ length: random.pick([1, 1, 2, 0]) }, () => ({
    groupId: model.group(),
    memberId: random.chance(0.8) ? null : random.pick(['', 'nobody']),
    memberEpoch: random.chance(0.8) ? -1 : random.pick([0, 5, -2]),
    topics: topics(),
  }))
  const body = { groupId: model.group(), topics: topics(), groups, requireStable: random.chance(0.3) }
  return [{ api: OffsetFetch, version: model.version(OffsetFetch), body }]
}

export function offsetDelete(model: Model): Step[] {
  const { random } = model
  const topics = model.topicsOnce(random.pick([1, 1, 2, 0])).map((topic) => {
    return { name: topic.name, partitions: [{ partitionIndex: model.partition(topic) }] }
  })
  return [{ api: OffsetDelete, version: 0, body: { groupId: model.group(), topics } }]
}

export function describeGroups(model: Model): Step[] {
  const { random } = model
  const groups = Array.from({ length: random.pick([1, 1, 2, 0]) }, () => model.group())
  const body = { groups, includeAuthorizedOperations: random.chance(0.4) }
  return [{ api: DescribeGroups, version: model.version(DescribeGroups), body }]
}

const STATES = ['Stable', 'Empty', 'PreparingRebalance', 'CompletingRebalance', 'stable', 'nonsense', '', 'Dead']

export function listGroups(model: Model): Step[] {
  const { random } = model
  const some = <T>(items: readonly T[]) =>
    random.chance(0.5) ? [] : Array.from({ length: random.between(1, 2) }, () => random.pick(items))
  const body = {
    statesFilter: some(STATES),
    typesFilter: some(['classic', 'consumer', 'Classic', 'share', 'nonsense']),
  }
  return [{ api: ListGroups, version: model.version(ListGroups), body }]
}

export function deleteGroups(model: Model): Step[] {
  const groupsNames = Array.from({ length: model.random.pick([1, 1, 2, 0]) }, () => model.group())
  return [{ api: DeleteGroups, version: model.version(DeleteGroups), body: { groupsNames } }]
}
