import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MalformedError } from '../base/bytes.ts'
import type { Moment, Origin, Outcome, Shard, Ticket } from '../model/shard.ts'
import { buildBatch, ControlRecordType, controlRecordKey } from '../protocol/batch/build.ts'
import { recordCount } from '../protocol/batch/header.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { LogUnavailableError } from '../env/replicated-log.ts'
import { ManualEnv } from '../testing/manual-env.ts'
import { MemoryLog } from '../testing/memory-log.ts'
import { CoordinatorError } from './errors.ts'
import { CoordinatorRuntime, DEFAULT_RUNTIME_LIMITS, type RuntimeLimits } from './runtime.ts'

/** `set` writes a value, `get` reads it (and says which record it saw), `park` waits for the next tick. */
type Request = { readonly set: string; readonly to: string } | { readonly get: string } | { readonly park: number }
interface Rec {
  readonly key: string
  readonly value: string
}

/** A register: the smallest shard that has everything a shard can have. */
class Register implements Shard<Rec, Request, string> {
  readonly values = new Map<string, { value: string; offset: number }>()
  readonly ended: string[] = []
  parked: { ticket: Ticket; deadlineMs: number } | null = null

  replay({ key, value }: Rec, { offset, producerId }: Origin): void {
    this.values.set(producerId === null ? key : `${key}/${producerId}`, { value, offset })
  }

  replayTransactionEnd(producerId: number, isCommit: boolean, offset: number): void {
    this.ended.push(`${producerId} ${isCommit} ${offset}`)
  }

  loaded(): Outcome<Rec, string> {
    return { records: [], replies: [], seen: -1, notes: [] }
  }

  handle(request: Request, ticket: Ticket, moment: Moment): Outcome<Rec, string> {
    if ('park' in request) {
      this.parked = { ticket, deadlineMs: moment.nowMs + request.park }
      return this.loaded()
    }
    if ('get' in request) {
      const found = this.values.get(request.get)
      return {
        records: [],
        replies: [{ ticket, response: found?.value ?? 'none' }],
        seen: found?.offset ?? -1,
        notes: [],
      }
    }
    if (moment.refusal !== null) {
      return { records: [], replies: [{ ticket, response: `refused ${moment.refusal}` }], seen: -1, notes: [] }
    }
    const before = this.values.get(request.set)?.value ?? 'none'
    const records = [{ key: request.set, value: request.to }]
    return { records, replies: [{ ticket, response: `was ${before}` }], seen: -1, notes: [] }
  }

  nextDeadlineMs(): number | null {
    return this.parked?.deadlineMs ?? null
  }

  tick(): Outcome<Rec, string> {
    const ticket = this.parked?.ticket ?? 0
    this.parked = null
    return {
      records: [{ key: 'ticked', value: 'yes' }],
      replies: [{ ticket, response: 'ticked' }],
      seen: -1,
      notes: [],
    }
  }

  dump(): string {
    return [...this.values].map(([key, { value }]) => `${key}=${value}`).join(' ')
  }
}

const kind = {
  name: 'registers',
  newShard: () => new Register(),
  encode: ({ key, value }: Rec) => ({ key: Buffer.from(key), value: Buffer.from(value) }),
  decode(key: Buffer, value: Buffer | null): Rec {
    if (key.toString() === 'broken') throw new MalformedError('broken')
    return { key: key.toString(), value: value?.toString() ?? '' }
  },
}

function setUp(limits: Partial<RuntimeLimits> = {}) {
  const world = new ManualEnv()
  const runtime = new CoordinatorRuntime(world.env, kind, { ...DEFAULT_RUNTIME_LIMITS, ...limits })
  /** What became of a request, or `waiting`. */
  const ask = (request: Request, partition = 0) => {
    const asked = { outcome: 'waiting' }
    runtime.submit(partition, request).then(
      (response) => {
        asked.outcome = response
      },
      (error: unknown) => {
        assert.ok(error instanceof CoordinatorError)
        asked.outcome = `error ${error.message}`
      },
    )
    return asked
  }
  return { world, runtime, ask }
}

async function lead(log: MemoryLog, limits: Partial<RuntimeLimits> = {}) {
  const scene = setUp(limits)
  scene.runtime.onLead(0, log)
  await scene.world.settle()
  assert.equal(scene.runtime.stateOf(0), 'active')
  return scene
}

test('requests of one turn are written as one batch, and each sees what the one before it wrote', async () => {
  const log = new MemoryLog()
  const { world, ask } = await lead(log)
  const asked = [ask({ set: 'x', to: '1' }), ask({ set: 'x', to: '2' }), ask({ get: 'x' })]
  await world.settle()
  assert.deepEqual(
    asked.map(({ outcome }) => outcome),
    ['was none', 'was 1', '2'],
  )
  assert.deepEqual(
    log.batches.map((batch) => recordCount(batch, 0)),
    [2],
  )
})

test('nothing that depends on an uncommitted record is said before it is committed', async () => {
  const log = new MemoryLog()
  const { world, ask } = await lead(log)
  ask({ set: 'old', to: '0' })
  await world.settle()
  log.isAutomatic = false
  const write = ask({ set: 'x', to: '1' })
  await world.settle()
  const read = ask({ get: 'x' })
  const readOld = ask({ get: 'old' })
  const next = ask({ set: 'x', to: '2' })
  await world.settle()
  assert.equal(readOld.outcome, '0')
  assert.deepEqual([write.outcome, read.outcome, next.outcome], ['waiting', 'waiting', 'waiting'])
  log.commit(2)
  await world.settle()
  assert.deepEqual([write.outcome, read.outcome, next.outcome], ['was none', '1', 'waiting'])
  log.commit()
  await world.settle()
  assert.equal(next.outcome, 'was 1')
})

test('when the leadership ends, everybody who waits is sent to the new coordinator', async () => {
  const log = new MemoryLog()
  const { world, runtime, ask } = await lead(log)
  log.isAutomatic = false
  const write = ask({ set: 'x', to: '1' })
  const parked = ask({ park: 1000 })
  await world.settle()
  log.end('resigned')
  await world.settle()
  assert.deepEqual([write.outcome, parked.outcome], ['error NOT_COORDINATOR', 'error NOT_COORDINATOR'])
  assert.equal(runtime.stateOf(0), 'resigned')
  runtime.onResign(0)
  const late = ask({ get: 'x' })
  await world.settle()
  assert.equal(late.outcome, 'error NOT_COORDINATOR')
  assert.equal(world.armed, 0)
})

test('what the log lost is forgotten: the shard is what the log says', async () => {
  const log = new MemoryLog()
  const { world, ask, runtime } = await lead(log)
  ask({ set: 'x', to: 'kept' })
  await world.settle()
  log.isAutomatic = false
  const lost = ask({ set: 'x', to: 'lost' })
  await world.settle()
  log.truncate()
  log.end('not-enough-replicas')
  await world.settle()
  assert.equal(lost.outcome, 'error COORDINATOR_NOT_AVAILABLE')
  const early = ask({ get: 'x' })
  await world.settle()
  assert.equal(early.outcome, 'error COORDINATOR_LOAD_IN_PROGRESS')
  await world.advance(200)
  const read = ask({ get: 'x' })
  await world.settle()
  assert.equal(read.outcome, 'kept')
  assert.equal(runtime.stateOf(0), 'active')
})

test('a log that takes nothing costs an answer and no more', async () => {
  const log = new MemoryLog()
  const { world, ask, runtime } = await lead(log)
  ask({ set: 'x', to: '1' })
  await world.settle()
  log.refuse('out-of-space')
  const write = ask({ set: 'x', to: '2' })
  const read = ask({ get: 'x' })
  await world.settle()
  assert.deepEqual([write.outcome, read.outcome], [`refused ${ErrorCode.COORDINATOR_NOT_AVAILABLE}`, '1'])
  log.refuse(null)
  const again = ask({ set: 'x', to: '3' })
  await world.settle()
  assert.equal(again.outcome, 'was 1')
  assert.equal(runtime.stateOf(0), 'active')
})

test('who waits too long for the commit is told so; the record may still be committed', async () => {
  const log = new MemoryLog()
  const { world, ask } = await lead(log, { commitTimeoutMs: 5000 })
  log.isAutomatic = false
  const write = ask({ set: 'x', to: '1' })
  await world.advance(4000)
  assert.equal(write.outcome, 'waiting')
  await world.advance(1100)
  assert.equal(write.outcome, 'error COORDINATOR_NOT_AVAILABLE')
  log.commit()
  const read = ask({ get: 'x' })
  await world.settle()
  assert.equal(read.outcome, '1')
})

test('deadlines of shards are kept by one timer, and none when there are none', async () => {
  const log = new MemoryLog()
  const { world, runtime, ask } = await lead(log)
  runtime.onLead(1, new MemoryLog(1))
  await world.settle()
  assert.equal(world.armed, 0)
  const parked = ask({ park: 1000 })
  const later = ask({ park: 3000 }, 1)
  await world.settle()
  assert.equal(world.armed, 1)
  await world.advance(999)
  assert.equal(parked.outcome, 'waiting')
  await world.advance(1)
  assert.deepEqual([parked.outcome, later.outcome], ['ticked', 'waiting'])
  await world.advance(2000)
  assert.equal(later.outcome, 'ticked')
  assert.equal(world.armed, 0)
})

test('a log is replayed in chunks, with transactions and their markers, before anything is answered', async () => {
  const records = [
    { key: Buffer.from('x'), value: Buffer.from('1') },
    { key: Buffer.from('y'), value: Buffer.from('2') },
  ]
  const source = new MemoryLog()
  source.append(buildBatch({ records }))
  source.append(
    buildBatch({ records, codec: 'gzip', producerId: 7, producerEpoch: 0, baseSequence: 0, isTransactional: true }),
  )
  const marker = { key: controlRecordKey(ControlRecordType.COMMIT), value: Buffer.alloc(6) }
  source.append(
    buildBatch({ records: [marker], producerId: 7, producerEpoch: 0, isTransactional: true, isControl: true }),
  )
  source.append(buildBatch({ records: [{ key: Buffer.from('x'), value: Buffer.from('3') }] }))
  const { world, runtime, ask } = setUp({ loadChunkBytes: 100 })
  runtime.onLead(0, new MemoryLog(0, { leaderEpoch: 2, batches: source.batches }))
  const early = ask({ get: 'x' })
  await world.settle()
  assert.equal(early.outcome, 'error COORDINATOR_LOAD_IN_PROGRESS')
  const [shard] = [...runtime.activeShards()] as [Register]
  assert.equal(shard.dump(), 'x=3 y=2 x/7=1 y/7=2')
  assert.deepEqual(shard.ended, ['7 true 4'])
})

test('a loaded record that is not committed yet is not shown before it is', async () => {
  const source = new MemoryLog()
  source.append(buildBatch({ records: [{ key: Buffer.from('x'), value: Buffer.from('1') }] }))
  const log = new MemoryLog(0, { batches: source.batches })
  log.committedOffset = 0
  const { world, ask } = await lead(log)
  const read = ask({ get: 'x' })
  await world.settle()
  assert.equal(read.outcome, 'waiting')
  log.commit()
  await world.settle()
  assert.equal(read.outcome, '1')
})

test('a log that cannot be read makes a failed shard, not an empty one', async () => {
  const source = new MemoryLog()
  source.append(buildBatch({ records: [{ key: Buffer.from('broken'), value: null }] }))
  const { world, runtime, ask } = setUp()
  runtime.onLead(0, new MemoryLog(0, { batches: source.batches }))
  await world.settle()
  assert.equal(runtime.stateOf(0), 'failed')
  const read = ask({ get: 'x' })
  await world.settle()
  assert.equal(read.outcome, 'error COORDINATOR_NOT_AVAILABLE')
})

test('a shard whose log the disk did not give for a while answers when it does', async () => {
  const source = new MemoryLog()
  source.append(buildBatch({ records: [{ key: Buffer.from('x'), value: Buffer.from('1') }] }))
  const log = new MemoryLog(0, { batches: source.batches })
  const read = log.read.bind(log)
  log.read = () => Promise.reject(new LogUnavailableError('storage', 'EMFILE'))
  const { world, runtime, ask } = setUp()
  runtime.onLead(0, log)
  await world.advance(10_000)
  assert.equal(runtime.stateOf(0), 'failed')
  log.read = read
  await world.advance(30_000)
  const answer = ask({ get: 'x' })
  await world.settle()
  assert.equal(answer.outcome, '1')
})

test('batches are cut at their limit, and every request is answered', async () => {
  const log = new MemoryLog()
  const { world, ask } = await lead(log, { batchBytesMax: 200 })
  const asked = Array.from({ length: 10 }, (_, index) => ask({ set: `key-${index}`, to: 'v'.repeat(50) }))
  await world.settle()
  for (const { outcome } of asked) assert.equal(outcome, 'was none')
  assert.equal(log.endOffset, 10)
  assert.ok(log.batches.length > 3, `${log.batches.length} batches`)
})

test('a new leadership in the same process starts from the log', async () => {
  const first = new MemoryLog()
  const { world, runtime, ask } = await lead(first)
  const write = ask({ set: 'x', to: '1' })
  await world.settle()
  assert.equal(write.outcome, 'was none')
  const parked = ask({ park: 100_000 })
  await world.settle()
  runtime.onLead(0, new MemoryLog(0, { leaderEpoch: 2, batches: first.batches }))
  await world.settle()
  assert.equal(parked.outcome, 'error NOT_COORDINATOR')
  const read = ask({ get: 'x' })
  await world.settle()
  assert.equal(read.outcome, '1')
})
