import type { BrokerImage } from '../metadata/image.ts'
import { hasRoom, hostOf } from './placement.ts'

/**
 * What is not as it should be with copies on these brokers, in words, or null. Brokers that are away count too: they are
 * expected back.
 */
export function spreadShortfall(brokers: Iterable<BrokerImage>, replicationFactor: number): string | null {
  const all = [...brokers]
  const hosts = new Set(all.map(hostOf)).size
  const zones = new Set(all.map(({ rack }) => rack)).size
  const shared: string[] = []
  if (hosts < replicationFactor) shared.push(`a host (there ${are(hosts, 'host')})`)
  // Nobody who names no zones wants to hear of them.
  const hasZones = all.some(({ rack }) => rack !== null)
  if (hasZones && zones < replicationFactor) shared.push(`a zone (there ${are(zones, 'zone')})`)
  const full = all.filter((broker) => !hasRoom(broker)).map(({ brokerId }) => brokerId)
  const waiting = all.length - full.length < replicationFactor ? fullNodes(full) : null
  if (shared.length === 0) return waiting
  const shares = `Of the ${replicationFactor} copies of a partition, some share ${shared.join(' and ')}`
  return waiting === null ? shares : `${shares}. ${waiting}`
}

function fullNodes(brokerIds: readonly number[]): string {
  const one = brokerIds.length === 1
  return `Copies on node${one ? '' : 's'} ${brokerIds.join(', ')} wait for room on ${one ? 'its disk' : 'their disks'}`
}

function are(count: number, what: string): string {
  return count === 1 ? `is 1 ${what}` : `are ${count} ${what}s`
}
