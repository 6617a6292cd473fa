import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { BrokerImage } from '../metadata/image.ts'
import { hostOf, placeReplicas } from './placement.ts'

function broker(brokerId: number, zone: string | null, host: string, fenced = false): BrokerImage {
  return {
    brokerId,
    brokerEpoch: 1,
    incarnationId: '',
    endpoints: [{ name: 'PLAINTEXT', host, port: 9092, securityProtocol: 0 }],
    features: [],
    rack: zone,
    fenced,
    inControlledShutdown: false,
    logDirs: [],
    cordonedLogDirs: null,
    outOfSpace: 0,
  }
}

/** Zones of hosts of nodes, each with at least one. */
const clusters = fc
  .array(fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })
  .map((zones) => {
    const brokers: BrokerImage[] = []
    for (const [z, hosts] of zones.entries()) {
      for (const [h, nodes] of hosts.entries()) {
        for (let n = 0; n < nodes; n++) brokers.push(broker(brokers.length + 1, `zone-${z}`, `host-${z}-${h}`))
      }
    }
    return brokers
  })

function place(
  brokers: readonly BrokerImage[],
  partitions: number,
  replicationFactor: number,
  rotation = 0,
): number[][] {
  const placed = placeReplicas(brokers, { firstPartition: 0, partitions, replicationFactor, rotation })
  assert.ok(!('error' in placed))
  return placed
}

test('copies share a zone, a host or a node only when there is no other', () => {
  fc.assert(
    fc.property(clusters, fc.nat(20), fc.nat(30), (brokers, wanted, rotation) => {
      const replicationFactor = 1 + (wanted % brokers.length)
      const zones = new Set(brokers.map(({ rack }) => rack)).size
      const hosts = new Set(brokers.map(hostOf)).size
      for (const replicas of place(brokers, 12, replicationFactor, rotation)) {
        const chosen = replicas.map((id) => brokers.find(({ brokerId }) => brokerId === id) as BrokerImage)
        assert.equal(new Set(replicas).size, replicationFactor)
        assert.equal(new Set(chosen.map(({ rack }) => rack)).size, Math.min(zones, replicationFactor))
        // Zones come first, so hosts may repeat in a small zone only when every zone has its share.
        if (replicationFactor <= zones) assert.equal(new Set(chosen.map(hostOf)).size, replicationFactor)
        else assert.ok(new Set(chosen.map(hostOf)).size >= Math.min(hosts, zones))
      }
    }),
  )
})

test('leaders are even over the brokers, and so are replicas where zones are alike', () => {
  for (const [zones, perZone, replicationFactor] of [
    [1, 5, 3],
    [3, 2, 3],
    [3, 4, 2],
    [4, 3, 3],
  ] as const) {
    const brokers = Array.from({ length: zones * perZone }, (_, i) => broker(i + 1, `z${i % zones}`, `h${i}`))
    const placed = place(brokers, brokers.length * 12, replicationFactor)
    const leaders = Map.groupBy(placed, ([leader]) => leader)
    for (const { brokerId } of brokers) assert.equal(leaders.get(brokerId)?.length, 12)
    const counts = brokers.map(({ brokerId }) => placed.filter((replicas) => replicas.includes(brokerId)).length)
    const fair = (placed.length * replicationFactor) / brokers.length
    for (const count of counts) assert.ok(Math.abs(count - fair) <= fair * 0.25, `${count} of ${fair}: ${counts}`)
  }
})

test("a dead broker's partitions are followed by more than one other", () => {
  const brokers = Array.from({ length: 6 }, (_, i) => broker(i + 1, null, `h${i}`))
  const heirs = place(brokers, 60, 2)
    .filter(([leader]) => leader === 1)
    .map(([, follower]) => follower)
  assert.ok(new Set(heirs).size >= 4, `${heirs}`)
})

test('topics of one partition do not all begin on the same broker', () => {
  const brokers = Array.from({ length: 4 }, (_, i) => broker(i + 1, null, `h${i}`))
  const leaders = Array.from({ length: 8 }, (_, i) => place(brokers, 1, 1, i)[0]?.[0])
  assert.deepEqual(new Set(leaders), new Set([1, 2, 3, 4]))
})

test('a fenced broker may follow, but leads nothing', () => {
  const brokers = [broker(1, 'a', 'h1'), broker(2, 'b', 'h2', true), broker(3, 'c', 'h3')]
  const placed = place(brokers, 6, 3)
  for (const [leader, ...followers] of placed) {
    assert.notEqual(leader, 2)
    assert.ok(followers.includes(2))
  }
})

test('what cannot be placed is refused with the reason', () => {
  const refused = (brokers: BrokerImage[], replicationFactor: number) => {
    const result = placeReplicas(brokers, { firstPartition: 0, partitions: 1, replicationFactor, rotation: 0 })
    return 'error' in result ? result.error : result
  }
  assert.equal(refused([broker(1, null, 'h', true)], 1), 'All brokers are currently fenced.')
  assert.match(refused([broker(1, null, 'h')], 2) as string, /replication factor of 2 .* only 1 broker/)
  assert.match(refused([broker(1, null, 'h')], 0) as string, /must be positive/)
})
