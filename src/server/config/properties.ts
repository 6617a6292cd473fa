/** One `key=value` of a file, with the line it began on for messages. */
export interface PropertyLine {
  readonly key: string
  readonly value: string
  readonly line: number
}

/**
 * Reads Java's .properties format as `java.util.Properties` does: `#` and `!` begin comments; `=`, `:` or white space
 * ends the key; a backslash continues the line or escapes the next character (`\t`, `\n`, `\r`, `\f`, `\uXXXX`).
 */
export function parseProperties(text: string): PropertyLine[] {
  const found: PropertyLine[] = []
  for (const { content, line } of logicalLines(text)) {
    let end = 0
    while (end < content.length && !/[=:\s]/.test(content[end] as string)) end += content[end] === '\\' ? 2 : 1
    const value = content.slice(end).replace(/^\s*[=:]?\s*/, '')
    found.push({ key: unescape(content.slice(0, end)), value: unescape(value), line })
  }
  return found
}

/** Lines without comments and blanks, continued lines joined. */
function* logicalLines(text: string): Generator<{ content: string; line: number }> {
  const lines = text.split(/\r\n|\n|\r/)
  for (let index = 0; index < lines.length; index++) {
    let content = (lines[index] as string).trimStart()
    if (content === '' || content[0] === '#' || content[0] === '!') continue
    const line = index + 1
    while (endsInContinuation(content) && index + 1 < lines.length) {
      content = content.slice(0, -1) + (lines[++index] as string).trimStart()
    }
    if (endsInContinuation(content)) content = content.slice(0, -1)
    yield { content, line }
  }
}

function endsInContinuation(content: string): boolean {
  const backslashes = /\\*$/.exec(content) as RegExpExecArray
  return backslashes[0].length % 2 === 1
}

const ESCAPES: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f' }

function unescape(raw: string): string {
  return raw.replace(/\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g, (_, hex: string | undefined, escaped: string) =>
    hex !== undefined ? String.fromCharCode(Number.parseInt(hex, 16)) : (ESCAPES[escaped] ?? escaped),
  )
}
