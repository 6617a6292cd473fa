import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../base/random.ts'
import { recordsOf } from '../protocol/batch/records.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { BrokerError, type ClientError, ConnectionError } from '../rpc/errors.ts'
import { PartitionQueue } from './partition-queue.ts'
import type { ProducerBatch } from './producer-batch.ts'

const SEEDS = 300
const RECORDS = 60

/** A leader that does what Kafka does with sequence numbers, and remembers every batch. */
class Leader {
  readonly log: string[] = []
  #epoch = -1
  #next = 0
  /** Of the present epoch: by base sequence, where the batch is. */
  #batches = new Map<number, number>()

  /** An earlier copy was written, though nobody heard of it. */
  has({ sequence }: ProducerBatch): boolean {
    assert.ok(sequence !== null)
    return sequence.epoch === this.#epoch && this.#batches.has(sequence.baseSequence)
  }

  append(batch: ProducerBatch): { errorCode: number; baseOffset: number } {
    const { sequence } = batch
    assert.ok(sequence !== null)
    if (sequence.epoch < this.#epoch) return { errorCode: ErrorCode.INVALID_PRODUCER_EPOCH, baseOffset: -1 }
    if (sequence.epoch > this.#epoch) {
      if (sequence.baseSequence !== 0) return { errorCode: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, baseOffset: -1 }
      this.#epoch = sequence.epoch
      this.#next = 0
      this.#batches = new Map()
    }
    const known = this.#batches.get(sequence.baseSequence)
    if (known !== undefined) return { errorCode: ErrorCode.NONE, baseOffset: known }
    if (sequence.baseSequence !== this.#next)
      return { errorCode: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, baseOffset: -1 }
    const baseOffset = this.log.length
    for (const { value } of recordsOf(batch.encode('none'))) this.log.push(String(value))
    this.#batches.set(sequence.baseSequence, baseOffset)
    this.#next += batch.count
    return { errorCode: ErrorCode.NONE, baseOffset }
  }
}

async function run(seed: number): Promise<void> {
  const random = new Random(seed)
  const leader = new Leader()
  const mayExpire = random.chance(0.3)
  const queue = new PartitionQueue('t', 0, {
    batchBytes: 100,
    lingerMs: 0,
    deliveryTimeoutMs: mayExpire ? 60 : 1_000_000,
    isIdempotent: true,
    maxInFlight: 5,
  })
  queue.setIdentity({ producerId: 1, epoch: 0 })
  const outcomes = new Map<string, number | string>()
  let nowMs = 0
  let sent = 0
  let inFlight: ProducerBatch[] = []
  /** Answers that are on their way back, in the order of the requests. */
  let answers: { batch: ProducerBatch; errorCode: number; baseOffset: number }[] = []
  const isDone = () => sent === RECORDS && queue.isIdle
  for (let step = 0; !isDone(); step++) {
    assert.ok(step < 100_000, 'does not end')
    nowMs += random.below(3)
    queue.expire(nowMs, null)
    const isQuiet = step > 50_000
    const action = isQuiet
      ? random.pick(['send', 'serve', 'answer'])
      : random.pick(['add', 'send', 'send', 'serve', 'serve', 'answer', 'answer', 'break', 'refuse'])
    if (action === 'add' || (isQuiet && sent < RECORDS)) {
      if (sent === RECORDS) continue
      const value = String(sent++)
      queue.add({ key: null, value: Buffer.from(value), timestampMs: 0 }, 20 + random.below(40), nowMs).then(
        ({ offset }) => outcomes.set(value, offset),
        (error: ClientError) => outcomes.set(value, error.code),
      )
    } else if (action === 'send' && queue.isReady(nowMs, true)) inFlight.push(queue.take())
    else if (action === 'serve' && inFlight.length > answers.length) {
      const batch = inFlight[answers.length] as ProducerBatch
      answers.push({ batch, ...leader.append(batch) })
    } else if (action === 'answer' && answers.length > 0) {
      const { batch, errorCode, baseOffset } = answers.shift() as (typeof answers)[number]
      inFlight.shift()
      if (errorCode === ErrorCode.NONE) queue.succeeded(batch, baseOffset, -1)
      else queue.failed(batch, new BrokerError(errorCode, 'leader'), nowMs)
    } else if (action === 'refuse' && inFlight.length > answers.length && random.chance(0.5)) {
      // For this batch only: a definite no, or one to try again after. A copy of what is there is not refused.
      const batch = inFlight[answers.length] as ProducerBatch
      if (leader.has(batch)) continue
      const errorCode = random.pick([
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
      ])
      answers.push({ batch, errorCode, baseOffset: -1 })
    } else if (action === 'break' && inFlight.length > 0 && random.chance(0.3)) {
      // Everything under way is lost: some of it was served, whose answers nobody will see.
      while (inFlight.length > answers.length && random.chance(0.5)) {
        const batch = inFlight[answers.length] as ProducerBatch
        answers.push({ batch, ...leader.append(batch) })
      }
      for (const batch of inFlight) queue.failed(batch, new ConnectionError('broken'), nowMs + random.below(5))
      inFlight = []
      answers = []
    }
  }
  await Promise.resolve()
  const positions = leader.log.map(Number)
  assert.deepEqual(
    positions,
    [...new Set(positions)].sort((one, other) => one - other),
    'each at most once, in order',
  )
  for (let index = 0; index < RECORDS; index++) {
    const outcome = outcomes.get(String(index))
    if (typeof outcome === 'number') assert.equal(leader.log[outcome], String(index), `record ${index} at its offset`)
    else assert.ok(outcome !== undefined, `record ${index} was never settled`)
    if (outcome === 'TOPIC_AUTHORIZATION_FAILED')
      assert.ok(!positions.includes(index), 'refused, and there all the same')
    if (!mayExpire && outcome === 'TIMEOUT') assert.fail(`record ${index} was given up`)
  }
}

test(`whatever breaks, records of a partition arrive once and in order, ${SEEDS} seeds`, async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    try {
      await run(seed)
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error })
    }
  }
})
