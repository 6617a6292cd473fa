import { InitProducerId } from '../../../src/protocol/apis/init-producer-id.ts'
import { Produce } from '../../../src/protocol/apis/produce.ts'
import { Batch, type BatchSpec } from '../batch.ts'
import type { Model, ModelProducer, ModelTopic } from '../model.ts'
import { type Body, Learned, type Step } from '../step.ts'

/** Ids of producers that no server gave out. */
export const FOREIGN_PRODUCERS = [777_777, 777_778, 777_779, 888_888, 999_999]

const TIMEOUT_MS = 10_000

export function initProducerId(model: Model): Step[] {
  const { random } = model
  if (model.producers.length > 0 && random.chance(0.4)) return [carryOn(model)]
  const producer: ModelProducer = { key: `producer ${model.producers.length}`, epoch: 0, sequences: new Map() }
  model.producers.push(producer)
  const body = { transactionalId: null, transactionTimeoutMs: random.pick([60_000, 0, -1, 2 ** 31 - 1]) }
  return [{ api: InitProducerId, version: model.version(InitProducerId), body, learn: learnProducer(producer.key) }]
}

/** A producer that names the id it has; without a transactional id that means little. */
function carryOn(model: Model): Step {
  const { random } = model
  const { key } = random.pick(model.producers)
  const producerId = random.pick<unknown>([new Learned(key, -1), -1, 5_000_000])
  const body = {
    transactionalId: random.chance(0.9) ? null : '',
    transactionTimeoutMs: 60_000,
    producerId,
    producerEpoch: random.pick([0, -1, 5, 32_767]),
  }
  return { api: InitProducerId, version: model.version(InitProducerId, 3), body }
}

function learnProducer(key: string): NonNullable<Step['learn']> {
  return (answer, tell) => {
    tell(key, answer['producerId'])
    tell(`${key} epoch`, answer['producerEpoch'])
  }
}

export function produce(model: Model): Step[] {
  const { random } = model
  const version = model.version(Produce)
  const acks = random.chance(0.85) ? -1 : random.pick([1, 1, 0, 2, -2])
  if (acks === 0) return unacknowledged(model, version)
  const topicData = model.topicsOnce(random.pick([1, 1, 1, 1, 2, 0])).map((topic) => topicOf(model, topic, false))
  return [{ api: Produce, version, body: { transactionalId: null, acks, timeoutMs: TIMEOUT_MS, topicData } }]
}

/** Nothing says when it is done but an answer to the next request of the same connection. */
function unacknowledged(model: Model, version: number): Step[] {
  const topic = model.topic()
  const body = (acks: number) => ({
    transactionalId: null,
    acks,
    timeoutMs: TIMEOUT_MS,
    topicData: [{ ...topicOf(model, topic, true), partitionData: [{ index: 0, records: plain(model, topic, 0) }] }],
  })
  return [
    { api: Produce, version, body: body(0), silent: true },
    { api: Produce, version, body: body(-1) },
  ]
}

function topicOf(model: Model, topic: ModelTopic, good: boolean): Body {
  const { random } = model
  const partitionData = model.partitionsOnce(topic, random.pick([1, 1, 1, 2])).map((index) => ({
    index,
    records: good || random.chance(0.45) ? plain(model, topic, index) : otherwise(model, topic, index),
  }))
  return { name: topic.name, topicId: model.topicId(topic), partitionData }
}

function specOf(model: Model): BatchSpec {
  const { random } = model
  const records = Array.from({ length: random.between(1, 4) }, () => ({
    key: random.chance(0.9) ? Buffer.from(`k${random.below(5)}`) : null,
    value: random.chance(0.9) ? Buffer.from('v'.repeat(random.pick([0, 1, 10, 200]))) : null,
  }))
  const none = { producerId: -1, producerEpoch: -1, baseSequence: -1 }
  const timestampMs = model.nowMs + random.between(-1000, 1000)
  return { records, timestampMs, ...none, gzip: random.chance(0.15), set: [], checksum: 'right', length: 'whole' }
}

function plain(model: Model, topic: ModelTopic, partition: number): Batch {
  const spec = specOf(model)
  topic.ends[partition] = (topic.ends[partition] ?? 0) + spec.records.length
  return new Batch(spec)
}

/** A batch of an idempotent producer, or one with something wrong. Never null: Kafka does not answer then. */
function otherwise(model: Model, topic: ModelTopic, partition: number): Batch {
  const { random } = model
  if (random.chance(0.55) && model.producers.length > 0) return sequenced(model, topic, partition)
  return new Batch({ ...specOf(model), ...wrong(model) })
}

function sequenced(model: Model, topic: ModelTopic, partition: number): Batch {
  const { random } = model
  const producer = random.pick(model.producers)
  const spec = specOf(model)
  const place = `${topic.name} ${partition} ${topic.incarnation}`
  const next = producer.sequences.get(place) ?? 0
  const good = random.chance(0.6)
  const baseSequence = good
    ? next
    : random.pick([next + 1, next - 1, 0, next - spec.records.length, -1, 2 ** 31 - 1, next + 5])
  const epoch = random.chance(0.85)
    ? producer.epoch
    : random.pick([producer.epoch + 1, Math.max(producer.epoch - 1, 0), 32_767])
  if (good && epoch === producer.epoch) {
    producer.sequences.set(place, next + spec.records.length)
    topic.ends[partition] = (topic.ends[partition] ?? 0) + spec.records.length
  }
  if (epoch === producer.epoch + 1 && baseSequence === 0) {
    producer.epoch = epoch
    producer.sequences.clear()
    producer.sequences.set(place, spec.records.length)
  }
  const producerId = random.chance(0.95) ? new Learned(producer.key, 999_999) : random.pick([888_888, 0, -2])
  return new Batch({ ...spec, producerId, producerEpoch: epoch, baseSequence })
}

/** One thing that is wrong, or at least odd, in a batch. */
function wrong(model: Model): Partial<BatchSpec> {
  const { random, nowMs } = model
  const set = (at: number, ...bytes: number[]) => ({ set: [{ at, bytes }] })
  return random.pick<Partial<BatchSpec>>([
    { checksum: 'wrong' },
    { length: 'cut' },
    { length: 'more' },
    { length: 'twice' },
    { length: 'none' },
    { timestampMs: nowMs + 2 * 86_400_000 },
    { timestampMs: nowMs - 2 * 86_400_000 },
    { timestampMs: -1 },
    { timestampMs: -5 },
    { timestampMs: 0 },
    set(0, 0, 0, 0, 0, 0, 0, 0, 7), // base offset
    set(12, 0, 0, 0, 9), // leader epoch
    set(16, 1), // magic
    set(21, 0, 0x20), // control
    set(21, 0, 0x08), // timestamp type
    set(21, 0x80, 0), // unused bits
    set(23, 0, 0, 0, 9), // last offset delta
    set(57, 0, 0, 0, 9), // number of records
    set(57, 0, 0, 0, 0),
    set(57, 255, 255, 255, 255),
    set(61, 0x7e), // length of the first record
    { records: [{ key: null, value: Buffer.alloc(1500, 'x') }] },
    { records: [{ key: null, value: Buffer.alloc(1_100_000, 'x') }], gzip: false },
    { records: [{ key: null, value: Buffer.from('without a key') }] },
    { producerId: 777_777, producerEpoch: 0, baseSequence: 0 },
    { producerId: 777_778, producerEpoch: 0, baseSequence: 5 },
    { producerId: 777_779, producerEpoch: 3, baseSequence: 0 },
    { producerId: -1, producerEpoch: 0, baseSequence: 0 },
  ])
}
