import type { Address } from '../../env/net.ts'

/** `PLAINTEXT://0.0.0.0:9092`: a name, where to bind. An empty host binds every interface. */
export interface ListenerConfig extends Address {
  readonly name: string
}

export const SECURITY_PROTOCOLS = ['PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'] as const
export type SecurityProtocol = (typeof SECURITY_PROTOCOLS)[number]

/** Parses `listeners` or `advertised.listeners`; a text says what is wrong. */
export function parseListeners(key: string, value: string): ListenerConfig[] | string {
  const found: ListenerConfig[] = []
  for (const part of value.split(',').map((piece) => piece.trim())) {
    if (part === '') continue
    const match = /^([A-Za-z0-9_.-]+):\/\/(?:\[([^\]]*)\]|([^:/\s]*)):(\d+)$/.exec(part)
    if (match === null) return `${key}: '${part}' is not NAME://host:port`
    const port = Number(match[4])
    if (port > 65_535) return `${key}: port ${port} of '${part}' is above 65535`
    const name = (match[1] as string).toUpperCase()
    if (found.some((other) => other.name === name)) return `${key}: listener ${name} stands there twice`
    found.push({ name, host: match[2] ?? match[3] ?? '', port })
  }
  return found
}

/** Parses `host:port`, `[v6]:port` or a bare port, as flags take it; null when it is none of these. */
export function parseHostPort(text: string): Address | null {
  const match = /^(?:(?:\[([^\]]*)\]|([^:\s]*)):)?(\d+)$/.exec(text.trim())
  if (match === null || Number(match[3]) > 65_535) return null
  return { host: match[1] ?? match[2] ?? '', port: Number(match[3]) }
}

/** Brackets around IPv6, as in URLs. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
