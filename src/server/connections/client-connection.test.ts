import assert from 'node:assert/strict'
import { test } from 'node:test'
import { poisonFreeBlocks, takeBlock } from '../../base/blocks.ts'
import type { Connection, ConnectionHandler } from '../../env/net.ts'
import { AnswerBudget } from '../../replica/answer-budget.ts'
import { ByteBudget } from './byte-budget.ts'
import { Call } from './call.ts'
import { ClientConnection, type ConnectionHost } from './client-connection.ts'
import { type ConnectionLimits, DEFAULT_LIMITS } from './limits.ts'

const PRODUCE = 0
const FETCH = 1

/** The other side of a connection: what was written, whether it is read. */
class Wire implements Connection {
  readonly local = { host: '127.0.0.1', port: 9092 }
  readonly remote = { host: '127.0.0.1', port: 50_000 }
  unsentBytes = 0
  paused = false
  destroyed = false
  readonly written: string[] = []
  readonly sent: (() => void)[] = []
  handler!: ConnectionHandler

  start(handler: ConnectionHandler) {
    this.handler = handler
  }

  pause() {
    this.paused = true
  }

  resume() {
    this.paused = false
  }

  write(buffers: readonly Buffer[], sent?: () => void) {
    this.written.push(Buffer.concat(buffers).toString())
    if (sent) this.sent.push(sent)
    return true
  }

  end() {}

  destroy() {
    this.destroyed = true
  }

  send(...requests: { key: number; id: number; bytes?: number }[]) {
    const frames = requests.map(({ key, id, bytes = 4 }) => {
      const frame = Buffer.alloc(4 + bytes)
      frame.writeInt32BE(bytes, 0)
      frame.writeInt16BE(key, 4)
      frame.writeInt16BE(id, 6)
      return frame
    })
    this.handler.data(Buffer.concat(frames))
  }
}

/** A host whose handlers answer when the test says so. */
class Host implements ConnectionHost {
  readonly limits: ConnectionLimits
  readonly budget: ByteBudget
  readonly answers: AnswerBudget
  readonly open: Call[] = []
  readonly started: number[] = []
  readonly frames: Buffer[] = []
  readonly reasons: string[] = []
  readonly abandoned: number[] = []
  nowMs = 0

  constructor(limits: Partial<ConnectionLimits> = {}) {
    this.limits = { ...DEFAULT_LIMITS, ...limits }
    this.budget = new ByteBudget(this.limits.nodeInFlightBytesMax)
    this.answers = new AnswerBudget(this.limits.answerBytesMax)
  }

  monotonicMs() {
    return this.nowMs
  }

  dispatch(connection: ClientConnection, frame: Buffer) {
    const apiKey = frame.readInt16BE(0)
    if (apiKey > 1) return `unknown api key ${apiKey}`
    const id = frame.readInt16BE(2)
    const kind = {
      apiKey,
      name: 'test',
      encodeResponse: (_version: number, correlationId: number) => [Buffer.from(`[${correlationId}]`)],
      finished() {},
    }
    const facts = { connection, kind, version: 0, correlationId: id, clientId: null, receivedMs: 0 }
    const call = new Call({ ...facts, frame })
    call.abandoned = () => this.abandoned.push(id)
    connection.opened(call)
    this.started.push(id)
    this.frames.push(frame)
    this.open.push(call)
    return null
  }

  serves(apiKey: number) {
    return apiKey <= 1
  }

  refused(_connection: ClientConnection, reason: string) {
    this.reasons.push(reason)
  }

  closed() {}

  endpointOf() {
    return null
  }

  answer(id: number, lent: readonly Buffer[] = [], heldBytes = 0) {
    const index = this.open.findIndex((call) => call.correlationId === id)
    const [call] = this.open.splice(index, 1)
    if (call) call.lent = lent
    if (call) call.heldBytes = heldBytes
    this.answers.hold(heldBytes)
    call?.reply(null)
  }
}

function connect(host: Host): Wire {
  const wire = new Wire()
  new ClientConnection(wire, 'PLAINTEXT', host).start()
  return wire
}

test('answers leave in the order of the requests, whatever order they are ready in', () => {
  const host = new Host()
  const wire = connect(host)
  wire.send({ key: PRODUCE, id: 1 }, { key: PRODUCE, id: 2 }, { key: PRODUCE, id: 3 })
  assert.deepEqual(host.started, [1, 2, 3])
  host.answer(3)
  host.answer(2)
  assert.deepEqual(wire.written, [])
  host.answer(1)
  assert.deepEqual(wire.written, ['[1][2][3]'])
})

test('only produce requests overtake nobody while others are under way: a fetch waits for its turn', () => {
  const host = new Host()
  const wire = connect(host)
  wire.send({ key: PRODUCE, id: 1 }, { key: FETCH, id: 2 }, { key: PRODUCE, id: 3 })
  assert.deepEqual(host.started, [1])
  assert.ok(wire.paused)
  host.answer(1)
  assert.deepEqual(host.started, [1, 2])
  assert.ok(wire.paused)
  host.answer(2)
  assert.deepEqual(host.started, [1, 2, 3])
  assert.ok(!wire.paused)
})

test('requests, bytes and unsent answers each have a bound at which reading stops', () => {
  const counted = new Host({ callsInFlightMax: 2 })
  const first = connect(counted)
  first.send({ key: PRODUCE, id: 1 }, { key: PRODUCE, id: 2 }, { key: PRODUCE, id: 3 })
  assert.deepEqual(counted.started, [1, 2])
  assert.ok(first.paused)
  counted.answer(1)
  assert.deepEqual(counted.started, [1, 2, 3])

  const weighed = new Host({ connectionInFlightBytesMax: 1000 })
  const second = connect(weighed)
  second.send({ key: PRODUCE, id: 1, bytes: 5000 }, { key: PRODUCE, id: 2, bytes: 10 })
  assert.deepEqual(weighed.started, [1])
  weighed.answer(1)
  assert.deepEqual(weighed.started, [1, 2])

  const slow = new Host({ unsentBytesMax: 100 })
  const third = connect(slow)
  third.unsentBytes = 101
  third.send({ key: FETCH, id: 1 })
  assert.deepEqual(slow.started, [])
  assert.ok(third.paused)
  third.unsentBytes = 0
  third.handler.drained()
  assert.deepEqual(slow.started, [1])
})

test('the bytes of the node are bounded across connections, first come first served', () => {
  const host = new Host({ nodeInFlightBytesMax: 160 })
  for (let id = 1; id <= 16; id++) connect(host).send({ key: FETCH, id, bytes: 10 })
  connect(host).send({ key: FETCH, id: 17, bytes: 10 })
  connect(host).send({ key: FETCH, id: 18, bytes: 4 })
  assert.equal(host.started.length, 16)
  assert.equal(host.budget.waiting, 2)
  host.answer(1)
  assert.deepEqual(host.started.slice(16), [17])
  for (let id = 2; id <= 18; id++) host.answer(id)
  assert.deepEqual(host.started.slice(16), [17, 18])
  assert.equal(host.budget.usedBytes, 0)
})

test('large requests wait for each other, and keep no small one waiting', () => {
  const host = new Host({ nodeInFlightBytesMax: 160 })
  const wires = Array.from({ length: 4 }, () => connect(host))
  wires[0]?.send({ key: FETCH, id: 1, bytes: 70 })
  wires[1]?.send({ key: FETCH, id: 2, bytes: 70 })
  wires[2]?.send({ key: FETCH, id: 3, bytes: 11 })
  wires[3]?.send({ key: FETCH, id: 4, bytes: 10 })
  assert.deepEqual(host.started, [1, 4])
  host.answer(1)
  assert.deepEqual(host.started, [1, 4, 2])
  host.answer(2)
  host.answer(3)
  host.answer(4)
  // One larger than their share is let in alone.
  wires[0]?.send({ key: FETCH, id: 5, bytes: 1000 })
  assert.deepEqual(host.started, [1, 4, 2, 3, 5])
  host.answer(5)
  assert.equal(host.budget.usedBytes, 0)
})

test('a connection that dies gives back its bytes, its place in the queue and its calls', () => {
  const host = new Host({ nodeInFlightBytesMax: 200 })
  const [dead, queued, last] = [connect(host), connect(host), connect(host)]
  dead.send({ key: PRODUCE, id: 1, bytes: 60 }, { key: PRODUCE, id: 2, bytes: 30 })
  queued.send({ key: FETCH, id: 3, bytes: 100 })
  last.send({ key: FETCH, id: 4, bytes: 50 })
  queued.handler.closed(null)
  dead.handler.closed(null)
  assert.deepEqual(host.abandoned, [1, 2])
  assert.deepEqual(host.started, [1, 2, 4])
  host.answer(1)
  assert.deepEqual(dead.written, [])
  host.answer(4)
  assert.equal(host.budget.usedBytes, 0)
})

test('what cannot be understood closes the connection with its reason', () => {
  const host = new Host()
  const wire = connect(host)
  wire.send({ key: 99, id: 1 })
  assert.deepEqual(host.reasons, ['unknown api key 99'])
  assert.ok(wire.destroyed)
  assert.equal(host.budget.usedBytes, 0)
})

test('a client that knows our versions from another connection may begin with a large request', () => {
  const host = new Host({ firstRequestBytesMax: 100, requestBytesMax: 1000 })
  const client = connect(host)
  client.send({ key: PRODUCE, id: 1, bytes: 1000 })
  assert.deepEqual(host.started, [1])
  const slow = connect(host)
  // Its first packets end within the size and within the key.
  for (const byte of [0, 0, 3, 232, 0, 0, 0, 2]) slow.handler.data(Buffer.from([byte]))
  slow.handler.data(Buffer.alloc(996))
  assert.deepEqual(host.started, [1, 2])
})

test('a stranger gets a small frame only; a client that has spoken gets the configured one', () => {
  const host = new Host({ firstRequestBytesMax: 100, requestBytesMax: 1000 })
  const stranger = connect(host)
  stranger.send({ key: 99, id: 1, bytes: 101 })
  assert.deepEqual(host.reasons, ['first request of 101 bytes with API key 99, which is not served here'])
  const client = connect(host)
  client.send({ key: PRODUCE, id: 2 }, { key: PRODUCE, id: 3, bytes: 1000 })
  assert.deepEqual(host.started, [2, 3])
  client.send({ key: PRODUCE, id: 4, bytes: 1001 })
  assert.equal(host.reasons[1], 'request of 1001 bytes, socket.request.max.bytes is 1000')
})

test('deadlines: silence at the door, a request that never ends, idleness', () => {
  const limits = { firstRequestDeadlineMs: 10, frameDeadlineMs: 100, frameBytesPerMsMin: 1, idleMs: 1000 }
  const host = new Host(limits)
  const connection = new ClientConnection(new Wire(), 'PLAINTEXT', host)
  assert.equal(connection.overdue(9), null)
  assert.match(connection.overdue(10) ?? '', /no valid request within 10 ms/)

  const wire = new Wire()
  const client = new ClientConnection(wire, 'PLAINTEXT', host)
  client.start()
  wire.send({ key: FETCH, id: 1 })
  assert.ok(!client.isIdle(5000))
  host.answer(1)
  assert.ok(client.isIdle(1000))
  wire.handler.data(Buffer.from([0, 0, 1, 0, 0, 7]))
  assert.equal(client.overdue(100), null)
  assert.match(client.overdue(102) ?? '', /2 bytes of a request of 256 came in 102 ms/)
  wire.handler.data(Buffer.alloc(98))
  assert.equal(client.overdue(199), null)
  assert.match(client.overdue(200) ?? '', /100 bytes of a request of 256/)
})

test('a request that is sent slowly is cut off sooner when others wait for the room it holds', () => {
  const limits = {
    frameDeadlineMs: 1000,
    frameBytesPerMsMin: 1,
    frameDeadlineScarceMs: 100,
    frameBytesPerMsScarceMin: 1,
  }
  const host = new Host({ ...limits, nodeInFlightBytesMax: 160 })
  const wire = new Wire()
  const slow = new ClientConnection(wire, 'PLAINTEXT', host)
  slow.start()
  wire.send({ key: FETCH, id: 1 })
  host.answer(1)
  wire.handler.data(Buffer.from([0, 0, 0, 80, 7, 7]))
  assert.equal(slow.overdue(500), null)
  connect(host).send({ key: FETCH, id: 2, bytes: 11 })
  assert.match(slow.overdue(500) ?? '', /2 bytes of a request of 80 .* others wait for room/)
})

test('what an answer refers to is let go when it has been sent, and not before', () => {
  poisonFreeBlocks()
  const host = new Host()
  const wire = connect(host)
  const block = takeBlock(10_000).fill(7)
  wire.send({ key: PRODUCE, id: 1 }, { key: PRODUCE, id: 2 })
  host.answer(2, [block])
  assert.equal(wire.sent.length, 0)
  host.answer(1)
  assert.deepEqual(wire.written, ['[1][2]'])
  assert.ok(block.every((byte) => byte === 7))
  wire.sent[0]?.()
  assert.ok(block.every((byte) => byte !== 7))
})

test('a Produce request keeps its bytes until it is answered', () => {
  poisonFreeBlocks()
  const host = new Host()
  const wire = connect(host)
  wire.send({ key: PRODUCE, id: 1, bytes: 20_000 })
  const frame = host.frames[0] as Buffer
  assert.equal(frame.readInt16BE(2), 1)
  host.answer(1)
  assert.notEqual(frame.readInt16BE(2), 1)
})

test('what an answer holds of the budget is given back once: when it has left, when the connection closes, or when nobody waits', () => {
  const host = new Host()
  const wire = connect(host)
  wire.send({ key: FETCH, id: 1 })
  host.answer(1, [], 1000)
  assert.equal(host.answers.heldBytes, 1000)
  wire.sent[0]?.()
  assert.equal(host.answers.heldBytes, 0)

  wire.send({ key: FETCH, id: 2 })
  host.answer(2, [], 2000)
  wire.handler.closed(null)
  assert.equal(host.answers.heldBytes, 0)
  wire.sent[1]?.()
  assert.equal(host.answers.heldBytes, 0)

  const another = connect(host)
  another.send({ key: FETCH, id: 3 })
  another.handler.closed(null)
  host.answer(3, [], 3000)
  assert.equal(host.answers.heldBytes, 0)

  const inOrder = connect(host)
  inOrder.send({ key: PRODUCE, id: 4 }, { key: PRODUCE, id: 5 })
  host.answer(5, [], 4000)
  inOrder.handler.closed(null)
  assert.equal(host.answers.heldBytes, 0)
})

test('a client that takes nothing of its answers is cut off, sooner when others wait for room', () => {
  const host = new Host({ answerDeadlineMs: 60_000, answerDeadlineScarceMs: 10_000 })
  const stuckAfter = (takenBytesPerSweep: number): number | null => {
    const wire = new Wire()
    const client = new ClientConnection(wire, 'PLAINTEXT', host)
    client.start()
    wire.send({ key: FETCH, id: 1 })
    wire.unsentBytes = 500_000
    host.answer(1)
    const startedMs = host.nowMs
    for (let sweep = 0; sweep < 20; sweep++) {
      host.nowMs += 5000
      wire.unsentBytes -= takenBytesPerSweep
      if (client.overdue(host.nowMs) !== null) return host.nowMs - startedMs
    }
    return null
  }
  assert.equal(stuckAfter(0), 65_000)
  assert.equal(stuckAfter(1), null)
  host.answers.wait({ roomFreed() {} })
  assert.equal(stuckAfter(0), 15_000)
  assert.equal(stuckAfter(1), 15_000)
  assert.equal(stuckAfter(100_000), null)
})
