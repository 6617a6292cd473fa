/**
 * The storage alone: partition logs that lose their process or their power again and again, at any instant, also while
 * they recover. What the log said is durable (or, where only the process died, written) is there afterwards, byte for
 * byte; what is there beyond is a prefix of what was appended.
 */
import assert from 'node:assert/strict'
import { Random } from '../../src/base/random.ts'
import type { TopicId } from '../../src/model/ids.ts'
import { buildBatch } from '../../src/protocol/batch/build.ts'
import type { Machine, Process } from '../../src/sim/machine.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'
import { defaultLogConfig, type LogConfig } from '../../src/storage/config.ts'
import { LogManager } from '../../src/storage/log-manager.ts'
import type { PartitionLog } from '../../src/storage/partition-log.ts'

const PARTITIONS = 3
const CYCLES = 6
const FOLDER = '/data'
const TOPIC_ID = 'c2ltdWxhdGVkLXRvcGljLQ' as TopicId
const NO_LIMIT = { maxBytes: 64 * 1024, limitOffset: Number.POSITIVE_INFINITY, atLeastOneBatch: true }

interface Appended {
  readonly bytes: Buffer
  readonly baseOffset: number
  readonly endOffset: number
  readonly leaderEpoch: number
}

/** What one partition must hold. */
class Model {
  readonly partition: number
  batches: Appended[] = []
  startOffset = 0
  /** DeleteRecords that was asked for and not answered: the start may be there already. */
  askedStart = 0
  /** The most the log ever promised to be durable. */
  durableOffset = 0
  /** What the system holds as long as the power stays on. */
  writtenOffset = 0
  producer = { producerId: 0, producerEpoch: 0, baseSequence: 0 }

  constructor(partition: number) {
    this.partition = partition
    this.producer.producerId = 1000 + partition
  }

  get endOffset(): number {
    return this.batches.at(-1)?.endOffset ?? 0
  }
}

class Round {
  readonly #sim: Sim
  readonly #process: Process
  readonly #random: Random
  readonly #models: readonly Model[]
  readonly #epoch: number
  readonly #config: LogConfig
  manager: LogManager | null = null

  constructor(options: { sim: Sim; process: Process; models: readonly Model[]; epoch: number; config: LogConfig }) {
    this.#sim = options.sim
    this.#process = options.process
    this.#models = options.models
    this.#epoch = options.epoch
    this.#config = options.config
    this.#random = new Random(options.sim.streams.workload.uint32())
  }

  /** Runs until the process is crashed from outside; its promises then never settle. */
  async run(): Promise<void> {
    const manager = await LogManager.open(this.#process.env, {
      folder: FOLDER,
      nodeId: 1,
      clusterId: 'simulated',
      openFilesMax: 4,
      tailBytesPerLogMax: 20_000,
      tailBytesMax: 50_000,
      checkpointIntervalMs: 200,
    })
    this.manager = manager
    await Promise.all(this.#models.map((model) => this.#runLog(manager, model)))
  }

  async #runLog(manager: LogManager, model: Model): Promise<void> {
    const log = await manager.openLog({ topic: 't', partition: model.partition }, TOPIC_ID, this.#config)
    await this.#checkRecovered(log, model)
    const promise = () => {
      model.durableOffset = Math.max(model.durableOffset, log.durableOffset)
      model.writtenOffset = Math.max(model.writtenOffset, log.writtenOffset)
      assert.ok(log.durableOffset <= log.writtenOffset && log.writtenOffset <= log.endOffset, log.dump())
    }
    promise()
    log.listener = {
      progressed: promise,
      failed: (_log, error) => this.#sim.scheduler.fail(error),
    }
    log.assignLeaderEpoch(this.#epoch)
    for (;;) {
      await this.#act(log, model)
      await new Promise<void>((resolve) => this.#process.env.timers.after(this.#random.float() * 20, resolve))
    }
  }

  async #act(log: PartitionLog, model: Model): Promise<void> {
    const random = this.#random
    const roll = random.float()
    if (roll < 0.6) for (let i = random.below(6); i >= 0; i--) this.#append(log, model)
    else if (roll < 0.85) await this.#readSome(log, model)
    else if (roll < 0.9) await log.flush()
    else if (roll < 0.95 && model.endOffset > 0) await this.#deleteRecords(log, model)
    else await log.applyRetention({ wallMs: this.#process.env.clock.wallMs(), highWatermark: log.durableOffset })
  }

  #append(log: PartitionLog, model: Model): void {
    const random = this.#random
    const count = 1 + random.below(8)
    const timestampMs = this.#process.env.clock.wallMs()
    const records = Array.from({ length: count }, () => {
      return { key: null, value: random.bytes(random.below(random.chance(0.1) ? 5000 : 200)), timestampMs }
    })
    const { producer } = model
    const bytes = buildBatch({ records, ...producer })
    assert.equal(log.checkProducer(bytes).kind, 'append', 'the next batch of a producer')
    const { baseOffset, lastOffset } = log.appendAsLeader(bytes, { leaderEpoch: this.#epoch, wallMs: timestampMs })
    assert.equal(baseOffset, model.endOffset)
    // A copy: the log owns the batch now.
    const kept = { bytes: Buffer.from(bytes), baseOffset, endOffset: lastOffset + 1, leaderEpoch: this.#epoch }
    model.batches.push(kept)
    producer.baseSequence += count
    const again = log.checkProducer(kept.bytes)
    assert.deepEqual([again.kind, 'baseOffset' in again && again.baseOffset], ['duplicate', baseOffset])
  }

  async #readSome(log: PartitionLog, model: Model): Promise<void> {
    const { endOffset } = model
    const from = log.logStartOffset + this.#random.below(endOffset - log.logStartOffset + 1)
    const result = await log.read(from, { ...NO_LIMIT, maxBytes: this.#random.pick([1, 3000, 100_000]) })
    this.#compare(Buffer.concat(result.buffers), model, result.startOffset)
  }

  #compare(bytes: Buffer, model: Model, startOffset: number): void {
    const first = model.batches.findIndex((batch) => batch.baseOffset === startOffset)
    if (bytes.length === 0) return
    assert.ok(first >= 0, `no batch was appended at ${startOffset}`)
    let at = 0
    for (let i = first; at < bytes.length; i++) {
      const expected = model.batches[i]?.bytes ?? Buffer.alloc(0)
      assert.ok(expected.length > 0 && bytes.subarray(at, at + expected.length).equals(expected), `batch ${i} differs`)
      at += expected.length
    }
  }

  async #deleteRecords(log: PartitionLog, model: Model): Promise<void> {
    const offset = model.startOffset + this.#random.below(Math.max(1, log.durableOffset - model.startOffset + 1))
    model.askedStart = Math.max(model.askedStart, offset)
    await log.advanceStartOffset(offset)
    model.startOffset = Math.max(model.startOffset, offset)
  }

  async #checkRecovered(log: PartitionLog, model: Model): Promise<void> {
    assert.ok(log.endOffset >= model.writtenOffset, `${log.dump()}, promised was ${model.writtenOffset}`)
    assert.ok(log.endOffset <= model.endOffset, `${log.dump()}, appended was ${model.endOffset}`)
    const starts = `it may start in [${model.startOffset}, ${model.askedStart}]`
    assert.ok(
      log.logStartOffset >= model.startOffset && log.logStartOffset <= model.askedStart,
      `${log.dump()}, ${starts}`,
    )
    assert.equal(log.durableOffset, log.endOffset, 'what recovery accepted is durable before it is used (S2)')
    // What is gone is gone: other records will take its offsets.
    model.batches = model.batches.filter((batch) => batch.endOffset <= log.endOffset)
    assert.equal(model.endOffset, log.endOffset, 'the log ends between two batches')
    model.startOffset = log.logStartOffset
    await this.#checkContent(log, model)
    this.#checkEpochs(log, model)
    this.#checkProducer(log, model)
    model.durableOffset = log.durableOffset
    model.writtenOffset = log.writtenOffset
  }

  async #checkContent(log: PartitionLog, model: Model): Promise<void> {
    for (let offset = log.logStartOffset; offset < log.endOffset; ) {
      const result = await log.read(offset, NO_LIMIT)
      // Nothing was compacted, so there is no hole either.
      const bytes = Buffer.concat(result.buffers)
      assert.ok(bytes.length > 0 && result.endOffset > offset, `nothing to read at ${offset} of ${log.dump()}`)
      this.#compare(bytes, model, result.startOffset)
      offset = result.endOffset
    }
  }

  #checkEpochs(log: PartitionLog, model: Model): void {
    const last = model.batches.at(-1)
    if (last !== undefined && last.endOffset > log.logStartOffset) {
      assert.ok(log.epochs.latest >= last.leaderEpoch, `${log.dump()}, the last batch has ${last.leaderEpoch}`)
    }
    for (const batch of model.batches) {
      if (batch.endOffset <= log.logStartOffset) continue
      const { endOffset } = log.epochs.endOffsetFor(batch.leaderEpoch, log.endOffset) ?? { endOffset: -1 }
      assert.ok(endOffset >= batch.endOffset, `epoch ${batch.leaderEpoch} ends at ${endOffset}: ${log.dump()}`)
    }
  }

  #checkProducer(log: PartitionLog, model: Model): void {
    const live = model.batches.filter((batch) => batch.endOffset > log.logStartOffset)
    for (const batch of live.slice(-5)) {
      const verdict = log.checkProducer(Buffer.from(batch.bytes))
      assert.deepEqual([verdict.kind, 'baseOffset' in verdict && verdict.baseOffset], ['duplicate', batch.baseOffset])
    }
    // A producer goes on where the log knows it.
    const { producerId } = model.producer
    model.producer = { producerId: producerId + PARTITIONS, producerEpoch: 0, baseSequence: 0 }
  }
}

function drawConfig(random: Random): LogConfig {
  return {
    ...defaultLogConfig,
    segmentBytes: random.pick([2000, 20_000, 1 << 30]),
    segmentIndexBytes: random.pick([64, 10_000]),
    indexIntervalBytes: random.pick([1, 4096]),
    fileDeleteDelayMs: random.pick([0, 50]),
    durabilityMode: random.pick(['fsync', 'relaxed']),
  }
}

function crash(machine: Machine, process: Process, random: Random, models: readonly Model[]): void {
  if (random.chance(0.3)) {
    machine.kill(process)
    return
  }
  machine.losePower(random.pick(['any', 'any', 'all', 'none']))
  for (const model of models) model.writtenOffset = model.durableOffset
}

scenario('a partition log survives crashes at any instant', { seeds: 200 }, async (sim) => {
  const random = sim.streams.workload
  const machine = sim.addMachine('node')
  const models = Array.from({ length: PARTITIONS }, (_, partition) => new Model(partition))
  for (let cycle = 1; cycle <= CYCLES; cycle++) {
    const process = machine.boot()
    const round = new Round({ sim, process, models, epoch: cycle, config: drawConfig(random) })
    round.run().catch((error) => sim.scheduler.fail(error))
    // Some live for seconds, some die while they recover.
    await sim.runFor(random.chance(0.3) ? random.float() * 20 : random.float() * 2000)
    crash(machine, process, random, models)
  }
  const last = new Round({ sim, process: machine.boot(), models, epoch: CYCLES + 1, config: drawConfig(random) })
  last.run().catch((error) => sim.scheduler.fail(error))
  await sim.until(() => last.manager !== null, { withinMs: 60_000, what: 'the last recovery' })
  await sim.runFor(500)
})
