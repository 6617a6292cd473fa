import { assert } from '../base/assert.ts'
import type { BrokerImage } from '../metadata/image.ts'

export interface PlacementRequest {
  /** Number of the first partition to place. */
  readonly firstPartition: number
  readonly partitions: number
  readonly replicationFactor: number
  /** Where the rotation begins; different for each topic, so that small topics spread too. */
  readonly rotation: number
}

/** Why there is no placement, in Kafka's words. */
export interface NoPlacement {
  readonly error: string
}

/**
 * Spreads replicas so that copies of one partition share a zone, then a host, then nothing at all, only when there is no
 * other way, and so that leaders and replicas are even over the brokers. Fenced and stopping brokers take followers but no
 * leaders, as they may come back; full ones take what no other can.
 *
 * The brokers stand in a ring in which neighbours differ in zone and then in host as long as possible. Partition p leads
 * at the ring's place p; its other copies follow round the ring, at a distance that grows with every full turn so that
 * a dead broker's load goes to many. Broker places that would repeat a zone or host are passed over while others are left.
 */
export function placeReplicas(brokers: readonly BrokerImage[], request: PlacementRequest): number[][] | NoPlacement {
  const { partitions, firstPartition, replicationFactor, rotation } = request
  assert(partitions > 0, `placement of ${partitions} partitions`)
  if (replicationFactor <= 0) {
    return { error: `Invalid replication factor ${replicationFactor}: the replication factor must be positive.` }
  }
  const open = brokers.filter((broker) => !isCordoned(broker))
  const present = open.filter((broker) => !isAway(broker))
  const roomy = present.filter(hasRoom)
  const leaders = ringOf(roomy.length > 0 ? roomy : present)
  if (leaders.length === 0) return { error: 'All brokers are currently fenced.' }
  if (replicationFactor > open.length) {
    const closed = brokers.length - open.length
    return {
      error:
        `The target replication factor of ${replicationFactor} cannot be reached because only ` +
        `${brokers.length} broker(s) are registered${closed === 0 ? '.' : `, ${closed} of them with all log directories cordoned.`}`,
    }
  }
  const ring = ringOf(open)
  const assignments: number[][] = []
  for (let i = 0; i < partitions; i++) {
    const place = firstPartition + rotation + i
    const leader = leaders[place % leaders.length] as BrokerImage
    const shift = 1 + (Math.floor(place / ring.length) % Math.max(1, ring.length - 1))
    assignments.push(copiesOf(ring, leader, shift, replicationFactor))
  }
  return assignments
}

/** The leader and `count - 1` others, walking the ring from `shift` places after it. */
function copiesOf(ring: readonly BrokerImage[], leader: BrokerImage, shift: number, count: number): number[] {
  const start = ring.indexOf(leader) + shift
  const candidates = ring.map((_, i) => ring[(start + i) % ring.length] as BrokerImage).filter((b) => b !== leader)
  const chosen = [leader]
  while (chosen.length < count) {
    const best = leastShared(candidates, chosen)
    chosen.push(best)
    candidates.splice(candidates.indexOf(best), 1)
  }
  return chosen.map(({ brokerId }) => brokerId)
}

/** More than all shared zones and hosts. */
const FULL_COST = 1e9

/** The first candidate with room whose zone, then whose host, is least used by `chosen`; brokers that serve before fenced ones. */
function leastShared(candidates: readonly BrokerImage[], chosen: readonly BrokerImage[]): BrokerImage {
  let best = candidates[0] as BrokerImage
  let bestCost = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const zones = chosen.filter((each) => each.rack === candidate.rack).length
    const hosts = chosen.filter((each) => hostOf(each) === hostOf(candidate)).length
    const cost = (hasRoom(candidate) ? 0 : FULL_COST) + (zones * 1000 + hosts) * 2 + (isAway(candidate) ? 1 : 0)
    if (cost < bestCost) {
      best = candidate
      bestCost = cost
    }
  }
  return best
}

function isAway({ fenced, inControlledShutdown }: BrokerImage): boolean {
  return fenced || inControlledShutdown
}

export function hasRoom({ outOfSpace }: BrokerImage): boolean {
  return outOfSpace === 0
}

/** No directory of it takes new replicas (KIP-1066). */
function isCordoned({ logDirs, cordonedLogDirs }: BrokerImage): boolean {
  return cordonedLogDirs !== null && cordonedLogDirs.length > 0 && logDirs.every((id) => cordonedLogDirs.includes(id))
}

/** Two nodes with one address are on one host. */
export function hostOf(broker: BrokerImage): string {
  return broker.endpoints[0]?.host ?? ''
}

/** Zones take turns, and within a zone its hosts. */
function ringOf(brokers: readonly BrokerImage[]): BrokerImage[] {
  const sorted = [...brokers].sort((a, b) => a.brokerId - b.brokerId)
  return takeTurns(
    sorted,
    ({ rack }) => rack ?? '',
    (zone) => takeTurns(zone, hostOf, (host) => host),
  )
}

function takeTurns(
  brokers: readonly BrokerImage[],
  keyOf: (broker: BrokerImage) => string,
  order: (group: BrokerImage[]) => BrokerImage[],
): BrokerImage[] {
  const groups = [...Map.groupBy(brokers, keyOf).values()].map(order)
  const ring: BrokerImage[] = []
  for (let turn = 0; ring.length < brokers.length; turn++) {
    for (const group of groups) {
      const broker = group[turn]
      if (broker !== undefined) ring.push(broker)
    }
  }
  return ring
}
