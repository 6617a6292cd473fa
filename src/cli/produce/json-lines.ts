import { type InputRecord, InputFormatError, RECORD_BYTES_MAX } from '../records/input-format.ts'

/** One JSON object a line, as `consume --format json` writes them; unknown members are ignored. */
export class JsonLines {
  #pending = ''
  #isEnded = false
  #count = 0

  push(chunk: Buffer): void {
    this.#pending += chunk.toString('latin1')
  }

  end(): void {
    this.#isEnded = true
  }

  next(): InputRecord | null {
    for (;;) {
      let end = this.#pending.indexOf('\n')
      if (end < 0) {
        if (this.#pending.length > RECORD_BYTES_MAX)
          throw new InputFormatError(
            `line ${this.#count + 1} has more than ${RECORD_BYTES_MAX} bytes, and no more is read`,
          )
        if (!this.#isEnded || this.#pending === '') return null
        end = this.#pending.length
      }
      // Lines are cut before they are decoded, since a character may come in two chunks.
      const line = Buffer.from(this.#pending.slice(0, end), 'latin1').toString('utf8').trim()
      this.#pending = this.#pending.slice(end + 1)
      this.#count++
      if (line !== '') return this.#parse(line)
    }
  }

  #parse(line: string): InputRecord {
    let json: unknown
    try {
      json = JSON.parse(line)
    } catch {
      throw new InputFormatError(`line ${this.#count} is not JSON`)
    }
    if (typeof json !== 'object' || json === null) throw new InputFormatError(`line ${this.#count} is not an object`)
    const fields = json as Record<string, unknown>
    const headers = Array.isArray(fields['headers']) ? (fields['headers'] as (Record<string, unknown> | null)[]) : []
    return {
      topic: typeof fields['topic'] === 'string' ? fields['topic'] : null,
      // Where it came from is not where it shall go: offset and partition of another topic are left out.
      partition: null,
      key: this.#bytes(fields, 'key'),
      value: this.#bytes(fields, 'value'),
      timestampMs: typeof fields['timestampMs'] === 'number' ? fields['timestampMs'] : null,
      headers: headers.map((header) => {
        if (typeof header?.['key'] !== 'string') throw new InputFormatError(`line ${this.#count}: a header without key`)
        return { key: header['key'], value: this.#bytes(header, 'value') }
      }),
    }
  }

  #bytes(fields: Record<string, unknown>, name: string): Buffer | null {
    const text = fields[name]
    const base64 = fields[`${name}Base64`]
    if (typeof base64 === 'string') return Buffer.from(base64, 'base64')
    if (text === undefined || text === null) return null
    return Buffer.from(typeof text === 'string' ? text : JSON.stringify(text))
  }
}
