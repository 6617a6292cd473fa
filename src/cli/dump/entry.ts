/** One line of a dump: named values in the order to show them. */
export type DumpEntry = Readonly<Record<string, unknown>>

/** Before the first name of an entry that belongs to the one above it: a record in its batch. For people only. */
export const UNDER = '| '

/** `baseOffset: 0 count: 3 …` for people, a line of a text file as it is; one JSON object a line for programs. */
export function formatEntry(entry: DumpEntry, format: 'text' | 'json'): string {
  if (format === 'json') {
    const names = Object.entries(entry).map(([name, value]) => [
      name.startsWith(UNDER) ? name.slice(UNDER.length) : name,
      value,
    ])
    return JSON.stringify(Object.fromEntries(names), replacer)
  }
  if (typeof entry['line'] === 'string') return entry['line']
  return Object.entries(entry)
    .map(([name, value]) => `${name}: ${shown(value)}`)
    .join(' ')
}

function shown(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value)
  return JSON.stringify(value, replacer)
}

/** Bytes are shown as text when they are text, else as base64 with a mark. */
function replacer(_name: string, value: unknown): unknown {
  const bytes = value as { type?: string; data?: number[] } | null
  if (typeof bytes !== 'object' || bytes === null || bytes.type !== 'Buffer' || !Array.isArray(bytes.data)) return value
  return bytesText(Buffer.from(bytes.data))
}

export function bytesText(bytes: Uint8Array | null): string | null {
  if (bytes === null) return null
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const text = buffer.toString('utf8')
  return Buffer.from(text, 'utf8').equals(buffer) ? text : `base64:${buffer.toString('base64')}`
}
