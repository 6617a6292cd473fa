export type OutputFormat = 'text' | 'json'

let drained: Promise<void> | null = null

/** Writes to stdout and waits while the reader is slower than we are. */
export function write(text: string | Uint8Array): Promise<void> {
  if (process.stdout.write(text)) return Promise.resolve()
  // Many may wait at once, and a listener for each of them would look like a leak.
  drained ??= new Promise((resolve) => {
    process.stdout.once('drain', () => {
      drained = null
      resolve()
    })
  })
  return drained
}

/** One JSON document, or the lines for people. */
export function print(format: OutputFormat, json: unknown, lines: readonly string[]): Promise<void> {
  return write(format === 'json' ? `${JSON.stringify(json, null, 2)}\n` : lines.map((line) => `${line}\n`).join(''))
}

/** Columns under their heads; numbers to the right. */
export function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const cells = [heads, ...rows.map((row) => row.map(String))]
  const widths = heads.map((_, column) => cells.reduce((most, row) => Math.max(most, (row[column] ?? '').length), 0))
  const isNumeric = heads.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'))
  return cells.map((row) =>
    row
      .map((cell, column) =>
        isNumeric[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
}
