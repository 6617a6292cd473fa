import { readBraces, readEscape } from './escapes.ts'

/** A record as it was read from standard input. */
export interface InputRecord {
  topic: string | null
  partition: number | null
  key: Buffer | null
  value: Buffer | null
  timestampMs: number | null
  headers: { key: string; value: Buffer | null }[]
}

type TextField = 't' | 'k' | 'v' | 'p' | 'd'
type SizeField = 'T' | 'K' | 'V' | 'H'
type Encoding = 'plain' | 'hex' | 'base64' | 'base64raw'

type Step =
  | { readonly kind: 'literal'; readonly bytes: Buffer }
  | { readonly kind: 'text'; readonly field: TextField; readonly encoding: Encoding; readonly size: number | null }
  | { readonly kind: 'size'; readonly field: SizeField; readonly width: NumberWidth }
  | { readonly kind: 'headers'; readonly steps: readonly Step[] }

/** Bytes of a binary number, or `ascii` digits up to the next literal. */
type NumberWidth = 'ascii' | { readonly bytes: 1 | 2 | 4 | 8; readonly order: 'big' | 'little' }

const SIZE_OF: Readonly<Record<string, SizeField>> = { t: 'T', k: 'K', v: 'V' }
const NOTHING = Buffer.alloc(0)
/** A record that is not complete after so many bytes is a wrong format rather than a large record. */
export const RECORD_BYTES_MAX = 128 * 1024 * 1024

/**
 * Compiles the %-format of rpk's produce: `%k` key, `%v` value, `%t` topic, `%p` partition, `%d` timestamp (ms), `%h{%k %v}`
 * headers. A text runs up to what follows it in the format (`%k %v\n`: key up to a blank, value up to the line's end), or
 * has a size: one read before (`%K{big32}%k`), or fixed (`%v{5}`). Modifiers: text `hex`, `base64`, `base64raw`;
 * sizes `ascii`, `big8` to `big64`, `little8` to `little64`, `byte`. A text says what is wrong with the format.
 */
export function compileInputFormat(format: string): RecordReader | string {
  const steps = compile(format, 'TKVHtkvpdh')
  if (typeof steps === 'string') return steps
  const problem = unendedText(steps)
  return problem ?? new RecordReader(steps)
}

function compile(format: string, allowed: string): Step[] | string {
  const steps: Step[] = []
  let literal: Buffer[] = []
  const flush = () => {
    if (literal.length > 0) steps.push({ kind: 'literal', bytes: Buffer.concat(literal) })
    literal = []
  }
  for (let at = 0; at < format.length; ) {
    const char = format[at] as string
    if (char === '\\') {
      const escape = readEscape(format, at)
      if (escape === null) return `unknown escape '${format.slice(at, at + 2)}'`
      literal.push(Buffer.from(escape.text, 'latin1'))
      at = escape.end
      continue
    }
    const letter = format[at + 1]
    if (char !== '%') {
      const codePoint = String.fromCodePoint(format.codePointAt(at) as number)
      literal.push(Buffer.from(codePoint))
      at += codePoint.length
    } else if (letter === undefined) {
      return 'the format ends in a lone %'
    } else if (letter === '%' || letter === '{' || letter === '}') {
      literal.push(Buffer.from(letter))
      at += 2
    } else {
      if (!allowed.includes(letter)) return `unknown %${letter}`
      const braces = readBraces(format, at + 2)
      const step = stepOf(letter, braces?.inside ?? null)
      if (typeof step === 'string') return step
      flush()
      steps.push(step)
      at = braces?.end ?? at + 2
    }
  }
  flush()
  return steps
}

function stepOf(letter: string, modifier: string | null): Step | string {
  if (letter === 'h') {
    if (modifier === null) return '%h needs a format for each header, as %h{%k=%v }'
    const steps = compile(modifier, 'KVkv')
    return typeof steps === 'string' ? steps : { kind: 'headers', steps }
  }
  if ('TKVH'.includes(letter)) {
    const width = widthOf(modifier ?? 'ascii')
    return width === null
      ? `%${letter}{${modifier}}: unknown number format`
      : { kind: 'size', field: letter as SizeField, width }
  }
  const field = letter as TextField
  if (modifier === null) return { kind: 'text', field, encoding: 'plain', size: null }
  if (/^\d+$/.test(modifier)) return { kind: 'text', field, encoding: 'plain', size: Number(modifier) }
  if (modifier === 'hex' || modifier === 'base64' || modifier === 'base64raw') {
    return { kind: 'text', field, encoding: modifier, size: null }
  }
  return `%${letter}{${modifier}}: hex, base64, base64raw and a number of bytes are known`
}

function widthOf(modifier: string): NumberWidth | null {
  if (modifier === 'ascii') return 'ascii'
  if (modifier === 'byte') return { bytes: 1, order: 'big' }
  const match = /^(big|little)(8|16|32|64)$/.exec(modifier)
  if (match === null) return null
  return { bytes: (Number(match[2]) / 8) as 1 | 2 | 4 | 8, order: match[1] as 'big' | 'little' }
}

/** A text without a size must be followed by a literal that ends it; the last one by the end of the input. */
function unendedText(steps: readonly Step[]): string | null {
  const sized = new Set<string>()
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'size') sized.add(step.field)
    const next = steps[index + 1]
    const isOpen = step.kind === 'text' && step.size === null && !sized.has(SIZE_OF[step.field] ?? '')
    const isAscii = step.kind === 'size' && step.width === 'ascii'
    if ((isOpen || isAscii) && next !== undefined && next.kind !== 'literal') {
      return `nothing in the format says where %${step.field} ends: a delimiter or a size must follow or precede it`
    }
    if (step.kind === 'headers') {
      const problem = unendedText(step.steps)
      if (problem !== null) return problem
      if (!steps.slice(0, index).some((before) => before.kind === 'size' && before.field === 'H')) {
        return '%h needs the number of headers before it: %H'
      }
    }
  }
  return null
}

/** Thrown by `next`: the input does not follow the format. */
export class InputFormatError extends Error {
  override name = 'InputFormatError'
}

/** More bytes are needed. Never leaves this file. */
const STARVED = Symbol('starved')

/** Cuts records out of bytes as they come. */
export class RecordReader {
  readonly #steps: readonly Step[]
  #pending: Buffer = NOTHING
  #at = 0
  #isEnded = false
  #count = 0

  constructor(steps: readonly Step[]) {
    this.#steps = steps
  }

  push(chunk: Buffer): void {
    this.#pending = this.#at === this.#pending.length ? chunk : Buffer.concat([this.#pending.subarray(this.#at), chunk])
    this.#at = 0
  }

  /** No more bytes will come: what is left is the last record, even without its last delimiter. */
  end(): void {
    this.#isEnded = true
  }

  /** The next record; null when more bytes are needed, or at the end. */
  next(): InputRecord | null {
    const start = this.#at
    if (start === this.#pending.length) return null
    const record: InputRecord = { topic: null, partition: null, key: null, value: null, timestampMs: null, headers: [] }
    try {
      this.#run(this.#steps, record, {}, true)
      this.#count++
      return record
    } catch (error) {
      if (error !== STARVED) throw error
      if (this.#isEnded) throw new InputFormatError(`record ${this.#count + 1}: the input ends in the middle of it`)
      if (this.#pending.length - start > RECORD_BYTES_MAX)
        throw new InputFormatError(
          `record ${this.#count + 1} does not end within ${RECORD_BYTES_MAX} bytes, and no more is read`,
        )
      this.#at = start
      return null
    }
  }

  #run(steps: readonly Step[], record: InputRecord, sizes: Partial<Record<SizeField, number>>, isOuter: boolean): void {
    for (const [index, step] of steps.entries()) {
      const isLast = isOuter && index >= steps.length - 2
      if (step.kind === 'literal') this.#skipLiteral(step.bytes, isOuter && index === steps.length - 1)
      else if (step.kind === 'size') sizes[step.field] = this.#readNumber(step, steps[index + 1])
      else if (step.kind === 'headers') this.#readHeaders(step.steps, record, sizes.H ?? 0)
      else {
        const size = step.size ?? sizes[SIZE_OF[step.field] as SizeField] ?? null
        const raw = size === null ? this.#readUntil(steps[index + 1], isLast) : this.#take(size)
        this.#assign(record, step.field, decoded(raw, step.encoding))
      }
    }
  }

  #readHeaders(steps: readonly Step[], record: InputRecord, count: number): void {
    for (let index = 0; index < count; index++) {
      const inner: InputRecord = {
        topic: null,
        partition: null,
        key: null,
        value: null,
        timestampMs: null,
        headers: [],
      }
      this.#run(steps, inner, {}, false)
      record.headers.push({ key: inner.key?.toString() ?? '', value: inner.value ?? NOTHING })
    }
  }

  #skipLiteral(bytes: Buffer, isLast: boolean): void {
    if (isLast && this.#isEnded && this.#at === this.#pending.length) return
    const found = this.#take(bytes.length)
    if (!found.equals(bytes)) {
      const expected = JSON.stringify(bytes.toString())
      throw new InputFormatError(
        `record ${this.#count + 1}: ${expected} expected, not ${JSON.stringify(found.toString())}`,
      )
    }
  }

  #readUntil(next: Step | undefined, isLast: boolean): Buffer {
    if (next === undefined) return this.#isEnded ? this.#take(this.#pending.length - this.#at) : starve()
    const end = this.#pending.indexOf((next as Extract<Step, { kind: 'literal' }>).bytes, this.#at)
    if (end >= 0) return this.#take(end - this.#at)
    return this.#isEnded && isLast ? this.#take(this.#pending.length - this.#at) : starve()
  }

  #readNumber({ field, width }: Extract<Step, { kind: 'size' }>, next: Step | undefined): number {
    if (width === 'ascii') {
      const digits = this.#readUntil(next, false).toString()
      if (!/^\d{1,9}$/.test(digits))
        throw new InputFormatError(`record ${this.#count + 1}: %${field} is ${JSON.stringify(digits)}`)
      return Number(digits)
    }
    const raw = this.#take(width.bytes)
    const bytes = width.order === 'little' ? Buffer.from(raw).reverse() : raw
    const value = Number(BigInt(`0x${bytes.toString('hex')}`))
    if (value > RECORD_BYTES_MAX) throw new InputFormatError(`record ${this.#count + 1}: %${field} is ${value}`)
    return value
  }

  #take(length: number): Buffer {
    if (this.#pending.length - this.#at < length) starve()
    const taken = this.#pending.subarray(this.#at, this.#at + length)
    this.#at += length
    return taken
  }

  #assign(record: InputRecord, field: TextField, bytes: Buffer): void {
    if (field === 'k') record.key = bytes
    else if (field === 'v') record.value = bytes
    else if (field === 't') record.topic = bytes.toString()
    else {
      const digits = bytes.toString()
      if (!/^\d{1,15}$/.test(digits))
        throw new InputFormatError(`record ${this.#count + 1}: %${field} is ${JSON.stringify(digits)}`)
      if (field === 'p') record.partition = Number(digits)
      else record.timestampMs = Number(digits)
    }
  }
}

function starve(): never {
  throw STARVED
}

function decoded(raw: Buffer, encoding: Encoding): Buffer {
  if (encoding === 'plain') return raw
  return Buffer.from(raw.toString('latin1'), encoding === 'hex' ? 'hex' : 'base64')
}
