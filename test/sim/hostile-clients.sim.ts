/**
 * Clients that send what no client sends: lengths and counts that cannot be, bytes at random, requests that break off. The
 * node goes on serving the others, and takes no memory for what is only claimed (X1, X6).
 */
import assert from 'node:assert/strict'
import { SimCluster } from '../../src/sim/cluster/sim-cluster.ts'
import type { Random } from '../../src/base/random.ts'
import { NetError } from '../../src/env/net.ts'
import { scenario } from '../../src/sim/scenario.ts'
import type { Sim } from '../../src/sim/sim.ts'
import { Load } from './support/load.ts'

/** Far more than any event of a small node takes, and far less than what is claimed. */
const EVENT_BYTES_MAX = 96 * 1024 ** 2
/** V8 takes memory at once for an array up to about this long. */
const CLAIMED = 30_000_000
const SETTINGS = { 'offsets.topic.num.partitions': '1', 'group.initial.rebalance.delay.ms': '0' }
const METADATA = 3
const LIST_OFFSETS = 2
const FETCH = 1

scenario('clients that send nonsense cost one node nothing', { seeds: 40 }, async (sim) => {
  const random = sim.streams.faults
  const cluster = new SimCluster(sim, { nodes: 1, settings: SETTINGS })
  const load = new Load(sim, cluster)
  await load.start({})
  const memory = new MemoryWatch(sim)
  for (let times = random.between(10, 30); times > 0; times--) {
    await sim.runFor(random.float() * 200)
    void annoy(cluster, random, memory)
  }
  await sim.runFor(1000)
  await load.settleAndJudge()
})

async function annoy(cluster: SimCluster, random: Random, memory: MemoryWatch): Promise<void> {
  const { process } = cluster.client(`mallory-${random.uint32()}`)
  const [address] = cluster.bootstrap
  if (address === undefined) return
  try {
    const connection = await process.env.net.connect(address)
    connection.start({ data() {}, drained() {}, closed() {} })
    const bytes = nonsense(random)
    memory.begin()
    connection.write([bytes])
    if (random.chance(0.3)) connection.end()
  } catch (error) {
    if (!(error instanceof NetError)) throw error
  }
}

function nonsense(random: Random): Buffer {
  const count = Buffer.alloc(4)
  count.writeInt32BE(random.pick([CLAIMED, 2 ** 31 - 1, -2]))
  const whole = [
    () => framed(METADATA, 1, count),
    // A compact array, and a length that goes on over five bytes.
    () => framed(METADATA, 9, Buffer.from([0, ...uvarint(CLAIMED + 1)])),
    () => framed(LIST_OFFSETS, 1, Buffer.concat([Buffer.alloc(4, 0xff), count])),
    () => framed(FETCH, 4, Buffer.concat([Buffer.alloc(17), count])),
    () => framed(random.below(90), random.below(20), random.bytes(random.below(200))),
    () => random.bytes(random.below(100)),
    () => Buffer.concat([count, random.bytes(random.below(50))]),
    () => Buffer.alloc(4),
  ]
  const bytes = random.pick(whole)()
  return random.chance(0.2) ? bytes.subarray(0, random.below(bytes.length + 1)) : bytes
}

/** With a header of version 1: correlation id and no client id. */
function framed(apiKey: number, version: number, body: Buffer): Buffer {
  const head = Buffer.alloc(14)
  head.writeInt32BE(10 + body.length, 0)
  head.writeInt16BE(apiKey, 4)
  head.writeInt16BE(version, 6)
  head.writeInt32BE(7, 8)
  head.writeInt16BE(-1, 12)
  return Buffer.concat([head, body])
}

function uvarint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...uvarint(Math.floor(value / 128))]
}

/** No event may take much memory, from the first nonsense on. It looks at the real heap, and decides nothing else by it. */
class MemoryWatch {
  #before = 0
  #isOn = false

  constructor(sim: Sim) {
    sim.scheduler.addInvariant(() => this.#look())
  }

  begin(): void {
    this.#before = taken()
    this.#isOn = true
  }

  #look(): void {
    if (!this.#isOn) return
    const now = taken()
    assert.ok(
      now - this.#before <= EVENT_BYTES_MAX,
      `X1: one event took ${Math.round((now - this.#before) / 2 ** 20)} MB`,
    )
    this.#before = now
  }
}

function taken(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
