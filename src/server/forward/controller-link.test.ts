import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ControllerApi } from '../../controller/shard.ts'
import type { Address } from '../../env/net.ts'
import { AllocateProducerIds } from '../../protocol/apis/allocate-producer-ids.ts'
import { CreateTopics } from '../../protocol/apis/create-topics.ts'
import { Envelope, type EnvelopeRequest } from '../../protocol/apis/envelope.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import { NotControllerError } from '../../quorum/errors.ts'
import { ConnectionError } from '../../rpc/errors.ts'
import type { Peers } from '../../rpc/peers.ts'
import { ManualEnv } from '../../testing/manual-env.ts'
import { ShardCluster } from '../../testing/shard-cluster.ts'
import type { Call } from '../connections/call.ts'
import { ControllerUnavailableError } from '../controller-channel.ts'
import { envelope } from '../handlers/envelope.ts'
import { ControllerLink } from './controller-link.ts'
import { ControllerSide, type QuorumPart } from './controller-side.ts'

interface Sent {
  readonly to: Address
  readonly api: { readonly name: string; readonly key: number }
  readonly body: unknown
  readonly timeoutMs: number
  resolve(response: unknown): void
  reject(error: Error): void
}

const ASK = { brokerId: 1, brokerEpoch: 7 }
const BLOCK = { errorCode: 0, producerIdStart: 1000, producerIdLen: 1000 }

/** Node 1, which is told who leads, and a network in which the test answers. */
function nodeOf() {
  const world = new ManualEnv()
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 }, { id: 3 })
  const sent: Sent[] = []
  let active: number | null = null
  const quorum: QuorumPart = {
    get image() {
      return cluster.image
    },
    activeController: () => active,
    leaderAddress: () => (active === null ? null : { host: `node-${active}`, port: 9093 }),
    handle: async (api, request, version) => {
      if (active !== 1) throw new NotControllerError(active)
      return cluster.ask(api as ControllerApi, request, version) as never
    },
    answer: () => Promise.reject(new Error('not asked here')),
    describeQuorum: () => ({ errorCode: 0, errorMessage: null, topics: [], nodes: [] }),
  }
  const peers = {
    request: (to: Address, _lane: string, api: Sent['api'], body: unknown, { timeoutMs }: { timeoutMs: number }) =>
      new Promise((resolve, reject) => sent.push({ to, api, body, timeoutMs, resolve, reject })),
  } as unknown as Peers
  const here = new ControllerSide(1, quorum, 'CONTROLLER')
  const link = new ControllerLink(world.env, { nodeId: 1, peers, location: quorum, here })
  const lead = (nodeId: number | null) => {
    active = nodeId
    link.controllerChanged()
    return world.settle()
  }
  return { world, cluster, sent, link, lead, here }
}

test('a request goes to the active controller: here by a call, elsewhere over the network', async () => {
  const { sent, link, lead, world } = nodeOf()
  await lead(1)
  assert.equal((await link.send(AllocateProducerIds, ASK)).errorCode, ErrorCode.STALE_BROKER_EPOCH)
  await lead(3)
  const asking = link.send(AllocateProducerIds, ASK)
  await world.settle()
  assert.equal(sent[0]?.to.host, 'node-3')
  sent[0]?.resolve(BLOCK)
  assert.equal((await asking).producerIdStart, 1000)
})

test('what waits for a controller that lost its place is asked of the next one at once', async () => {
  const { sent, link, lead } = nodeOf()
  await lead(2)
  const asking = link.send(AllocateProducerIds, ASK)
  await lead(null)
  await lead(3)
  assert.deepEqual(
    sent.map(({ to }) => to.host),
    ['node-2', 'node-3'],
  )
  sent[1]?.resolve(BLOCK)
  assert.equal((await asking).producerIdStart, 1000)
})

test('a refusal, a broken connection, or nobody to ask: tried again, and given up in time', async () => {
  const { world, sent, link, lead } = nodeOf()
  const asking = assert.rejects(link.send(AllocateProducerIds, ASK, { timeoutMs: 100 }), ControllerUnavailableError)
  await world.advance(30)
  await lead(2)
  sent[0]?.resolve({ errorCode: ErrorCode.NOT_CONTROLLER })
  await world.advance(20)
  sent[1]?.reject(new ConnectionError('refused'))
  await world.advance(20)
  assert.equal(sent.length, 3)
  sent[2]?.reject(new ConnectionError('refused'))
  await world.advance(100)
  for (const { reject } of sent) reject(new ConnectionError('refused'))
  await asking
  assert.equal(world.armed, 0)
})

test('an attempt that begins when the time is over is none; what is told is why the last one failed', async () => {
  const { sent, link, lead, world } = nodeOf()
  await lead(3)
  const failed = assert.rejects(link.send(AllocateProducerIds, ASK, { timeoutMs: 50.5 }), /the port refuses/)
  for (let elapsedMs = 0; elapsedMs < 60; elapsedMs += 10) {
    sent.at(-1)?.reject(new ConnectionError('the port refuses'))
    await world.advance(10)
  }
  await failed
  assert.ok(sent.length > 1)
  for (const { timeoutMs } of sent) assert.ok(timeoutMs > 0 && Number.isInteger(timeoutMs), `within ${timeoutMs} ms`)
})

test('a client’s request travels in an envelope; the answer comes back in its version, with where it is in the metadata', async () => {
  const { world, sent, link, lead, here, cluster } = nodeOf()
  await lead(2)
  const origin = { version: 2, clientId: 'app', host: '10.1.2.3', gone: false }
  const topic = { name: 'orders', numPartitions: 1, replicationFactor: 3, assignments: [], configs: [] }
  const asking = link.forward(CreateTopics, { topics: [topic], timeoutMs: 5000, validateOnly: false }, origin)
  await world.settle()
  const [asked] = sent
  assert.equal(asked?.api.key, Envelope.key)
  const body = asked?.body as EnvelopeRequest
  assert.deepEqual([...body.clientHostAddress], [10, 1, 2, 3])
  const answer = () => envelope(here).handle(body as never, {} as Call) as Promise<{ errorCode: number }>
  assert.equal((await answer()).errorCode, ErrorCode.NOT_CONTROLLER, 'this node does not lead')
  await lead(1)
  const { response } = await asking
  assert.deepEqual(response.topics, [{ name: 'orders', errorCode: 0, errorMessage: null, ...response.topics[0] }])
  assert.ok(cluster.image.topic('orders') !== undefined)
  const unwrapped = (await answer()) as { errorCode: number; metadataOffset?: number; responseData?: Buffer }
  assert.equal(unwrapped.metadataOffset, cluster.image.position.offset)
  assert.ok(unwrapped.responseData?.includes('orders'), 'the answer, that it is there already')
})

test('what is no request, or none that clients may make, is refused in an envelope', async () => {
  const { here, lead } = nodeOf()
  await lead(1)
  for (const requestData of [Buffer.from([1, 2]), Buffer.from([0, 62, 0, 4, 0, 0, 0, 0, 255, 255, 0])]) {
    const asked = { requestData, requestPrincipal: null, clientHostAddress: Buffer.alloc(4) }
    const answer = (await envelope(here).handle(asked as never, {} as Call)) as { errorCode: number }
    assert.equal(answer.errorCode, ErrorCode.INVALID_REQUEST)
  }
})
