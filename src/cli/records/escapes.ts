const ESCAPES: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', '\\': '\\', '0': '\0' }

/** Reads the escape after the backslash at `at`: `\t \n \r \\ \0 \xNN`; its text and where it ends, or null. */
export function readEscape(format: string, at: number): { text: string; end: number } | null {
  const letter = format[at + 1]
  if (letter === 'x') {
    const hex = /^[0-9a-fA-F]{2}/.exec(format.slice(at + 2))
    return hex === null ? null : { text: String.fromCharCode(Number.parseInt(hex[0], 16)), end: at + 4 }
  }
  const text = letter === undefined ? undefined : ESCAPES[letter]
  return text === undefined ? null : { text, end: at + 2 }
}

/** Reads `{…}` at `at`, braces balanced; its inside and where it ends. Null when there is none or it does not end. */
export function readBraces(format: string, at: number): { inside: string; end: number } | null {
  if (format[at] !== '{') return null
  let depth = 0
  for (let index = at; index < format.length; index++) {
    if (format[index] === '%' && (format[index + 1] === '{' || format[index + 1] === '}')) index++
    else if (format[index] === '{') depth++
    else if (format[index] === '}' && --depth === 0) return { inside: format.slice(at + 1, index), end: index + 1 }
  }
  return null
}
