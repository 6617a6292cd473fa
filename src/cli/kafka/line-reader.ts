import type { RecordHeader } from '../../protocol/batch/build.ts'
import { ToolExit } from './tool.ts'

export interface LineRecord {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
}

const DEFAULTS = {
  'parse.key': 'false',
  'key.separator': '\t',
  'parse.headers': 'false',
  'headers.delimiter': '\t',
  'headers.separator': ',',
  'headers.key.separator': ':',
  'ignore.error': 'false',
  'null.marker': '',
}

/** `h1:v1,h2:v2<tab>key<tab>value` as kafka-console-producer reads its lines. */
export class LineReader {
  readonly #marker: string | null
  readonly #settings: typeof DEFAULTS
  #lineNumber = 0

  /** Throws `ToolExit`. */
  constructor(given: ReadonlyMap<string, string>) {
    this.#settings = { ...DEFAULTS, ...Object.fromEntries(given) }
    this.#marker = given.get('null.marker') ?? null
    this.#refuseEqual('headers.delimiter', 'headers.separator')
    this.#refuseEqual('headers.delimiter', 'headers.key.separator')
    this.#refuseEqual('headers.separator', 'headers.key.separator')
    if (this.#marker === null) return
    for (const key of ['key.separator', 'headers.separator', 'headers.delimiter', 'headers.key.separator'] as const)
      this.#refuseEqual('null.marker', key)
  }

  #refuseEqual(left: keyof typeof DEFAULTS, right: keyof typeof DEFAULTS): void {
    if (this.#settings[left] === this.#settings[right]) throw failure(`${left} and ${right} may not be equal`)
  }

  /** Throws `ToolExit` for a line that does not follow the settings. */
  read(line: string): LineRecord {
    this.#lineNumber++
    const delimiter = this.#settings['headers.delimiter']
    const separator = this.#settings['key.separator']
    const headers = this.#part('parse.headers', line, 0, delimiter, 'headers delimiter')
    const keyStart = headers === null ? 0 : headers.length + delimiter.length
    const key = this.#part('parse.key', line, keyStart, separator, 'key separator')
    const value = line.slice(key === null ? keyStart : keyStart + key.length + separator.length)
    const isNull = headers === null || headers === this.#marker
    return { key: this.#bytes(key), value: this.#bytes(value), headers: isNull ? [] : this.#headers(headers) }
  }

  #part(flag: 'parse.headers' | 'parse.key', line: string, from: number, mark: string, name: string): string | null {
    if (!isTrue(this.#settings[flag])) return null
    const at = line.indexOf(mark, from)
    if (at >= 0) return line.slice(from, at)
    if (isTrue(this.#settings['ignore.error'])) return null
    throw failure(`No ${name} found on line number ${this.#lineNumber}: '${line}'`)
  }

  #headers(text: string): RecordHeader[] {
    const mark = this.#settings['headers.key.separator']
    return text.split(new RegExp(this.#settings['headers.separator'])).map((pair) => {
      const at = pair.indexOf(mark)
      if (at < 0 && isTrue(this.#settings['ignore.error'])) return { key: pair, value: null }
      if (at < 0) throw failure(`No header key separator found in pair '${pair}' on line number ${this.#lineNumber}`)
      const key = pair.slice(0, at)
      if (key === this.#marker)
        throw failure(`Header keys should not be equal to the null marker '${this.#marker}' as they can't be null`)
      return { key, value: this.#bytes(pair.slice(at + mark.length)) }
    })
  }

  #bytes(text: string | null): Buffer | null {
    return text === null || text === this.#marker ? null : Buffer.from(text)
  }
}

function isTrue(text: string): boolean {
  return text.trim().toLowerCase() === 'true'
}

function failure(message: string): ToolExit {
  return new ToolExit(1, 'stderr', `org.apache.kafka.common.KafkaException: ${message}`)
}
