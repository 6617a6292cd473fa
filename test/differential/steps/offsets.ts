import { DeleteRecords } from '../../../src/protocol/apis/delete-records.ts'
import { DescribeProducers } from '../../../src/protocol/apis/describe-producers.ts'
import { ListOffsets } from '../../../src/protocol/apis/list-offsets.ts'
import { OffsetForLeaderEpoch } from '../../../src/protocol/apis/offset-for-leader-epoch.ts'
import type { Model } from '../model.ts'
import type { Body, Step } from '../step.ts'

function perTopic<P>(
  model: Model,
  make: (partition: number, offset: number) => P,
): { name: string; partitions: P[] }[] {
  const { random } = model
  return model.topicsOnce(random.pick([1, 1, 1, 2, 0])).map((topic) => ({
    name: topic.name,
    partitions: model
      .partitionsOnce(topic, random.pick([1, 1, 2, 2, 0]))
      .map((partition) => make(partition, model.offset(topic, partition))),
  }))
}

export function listOffsets(model: Model): Step[] {
  const { random, nowMs } = model
  const topics = perTopic(model, (partitionIndex) => ({
    partitionIndex,
    currentLeaderEpoch: model.leaderEpoch(),
    timestamp: random.chance(0.6)
      ? random.pick([-1, -2, -3, -4, -5, -6])
      : random.pick([-7, 0, 1, nowMs - 1000, nowMs, nowMs + 500, nowMs + 5000, 2 ** 53 - 1, -1000]),
  }))
  const body = {
    replicaId: random.chance(0.95) ? -1 : random.pick([-2, -3, 5]),
    isolationLevel: random.below(2),
    topics,
    timeoutMs: 10_000,
  }
  return [{ api: ListOffsets, version: model.version(ListOffsets), body }]
}

export function deleteRecords(model: Model): Step[] {
  const topics = perTopic(model, (partitionIndex, offset) => ({ partitionIndex, offset }))
  return [{ api: DeleteRecords, version: model.version(DeleteRecords), body: { topics, timeoutMs: 10_000 } }]
}

export function offsetForLeaderEpoch(model: Model): Step[] {
  const { random } = model
  const topics = perTopic(model, (partition) => ({
    partition,
    currentLeaderEpoch: model.leaderEpoch(),
    leaderEpoch: random.pick([0, 0, 0, 1, -1, 100, -2]),
  })).map(({ name, partitions }): Body => ({ topic: name, partitions }))
  const body = { replicaId: random.chance(0.9) ? -1 : random.pick([-2, -3]), topics }
  return [{ api: OffsetForLeaderEpoch, version: model.version(OffsetForLeaderEpoch), body }]
}

export function describeProducers(model: Model): Step[] {
  const topics = perTopic(model, (partition) => partition).map(({ name, partitions }) => ({
    name,
    partitionIndexes: partitions,
  }))
  return [{ api: DescribeProducers, version: 0, body: { topics } }]
}
