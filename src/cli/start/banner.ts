import type { Address } from '../../env/net.ts'
import { formatAddress } from '../../server/config/listeners.ts'

export interface BannerFacts {
  readonly version: string
  readonly nodeId: number
  /** Of its process. */
  readonly pid: number
  readonly clusterId: string
  readonly dataFolder: string
  readonly listeners: readonly { readonly name: string; readonly bound: Address; readonly advertised: Address | null }[]
  /** Null on a mere broker. */
  readonly controller: Address | null
  readonly http: Address | null
  /** What topics do unless they say otherwise. */
  readonly durabilityMode: string
}

/** What a newcomer wants to know in the first second: where it listens, what it tells clients, where data lies, what an ack means. */
export function banner(facts: BannerFacts): string {
  const rows: [string, string][] = facts.listeners.map(({ name, bound, advertised }) => [
    'clients',
    `${formatAddress(bound)}  ${name}, tells clients ${advertised === null ? 'the address they used' : formatAddress(advertised)}`,
  ])
  if (facts.controller !== null) rows.push(['controller', formatAddress(facts.controller)])
  if (facts.http !== null)
    rows.push(['http', `http://${formatAddress(facts.http)}  /metrics /livez /readyz /healthz?verbose`])
  rows.push(['data', facts.dataFolder])
  rows.push(['acks=all', ackMeaning(facts.durabilityMode)])
  const lines = rows.map(([label, text]) => `  ${label.padEnd(11)}${text}`)
  return `millrace ${facts.version}  node ${facts.nodeId}, cluster ${facts.clusterId}\n${lines.join('\n')}\n`
}

/** The same of several nodes on one host. */
export function bannerOfNodes(nodes: readonly BannerFacts[]): string {
  const [first] = nodes as [BannerFacts]
  const lines = nodes.map(({ nodeId, pid, listeners, controller, http }) => {
    const parts = [`pid ${pid}`, `clients ${listeners.map(({ bound }) => formatAddress(bound)).join(', ')}`]
    if (controller !== null) parts.push(`controller ${formatAddress(controller)}`)
    if (http !== null) parts.push(`http://${formatAddress(http)}`)
    return `  ${`node ${nodeId}`.padEnd(11)}${parts.join('  ')}`
  })
  lines.push(`  ${'data'.padEnd(11)}${nodes.map(({ dataFolder }) => dataFolder).join(', ')}`)
  lines.push(`  ${'acks=all'.padEnd(11)}${ackMeaning(first.durabilityMode)}`)
  return `millrace ${first.version}  ${nodes.length} nodes on this host, cluster ${first.clusterId}\n${lines.join('\n')}\n`
}

function ackMeaning(durabilityMode: string): string {
  return durabilityMode === 'relaxed'
    ? 'answered from the page cache: survives a killed process, not a power cut (log.durability.mode=relaxed)'
    : 'answered when the record is on disk (fsync); a topic may relax that with durability.mode'
}
