/** `switch` takes no value, `optional` may. */
export type FlagKind = 'switch' | 'value' | 'optional' | 'int' | 'long'
export type FlagKinds = Readonly<Record<string, FlagKind>>

/** The command line is not what the tool takes; said as Kafka's tools say it. */
export class FlagError extends Error {
  override name = 'FlagError'
}

/** Flags of one of Kafka's tools, read by the rules of its parser: whole names, `--name value` or `--name=value`, in any order; other words are ignored. */
export class Flags {
  readonly #given = new Map<string, (string | null)[]>()
  readonly #kinds: FlagKinds

  /** Throws `FlagError`. */
  constructor(kinds: FlagKinds, args: readonly string[]) {
    this.#kinds = kinds
    for (let at = 0; at < args.length; at++) {
      const word = args[at] as string
      if (!word.startsWith('--') || word === '--') continue
      const equals = word.indexOf('=')
      const name = word.slice(2, equals < 0 ? undefined : equals)
      const kind = kinds[name]
      if (kind === undefined) throw new FlagError(`${name} is not a recognized option`)
      let value: string | null = equals < 0 ? null : word.slice(equals + 1)
      const next = args[at + 1]
      if (value === null && next !== undefined && takes(kind, next)) {
        value = next
        at++
      }
      if (value === null && kind !== 'switch' && kind !== 'optional')
        throw new FlagError(`Option ${name} requires an argument`)
      this.#given.set(name, [...(this.#given.get(name) ?? []), value])
    }
  }

  has(name: string): boolean {
    return this.#given.has(name)
  }

  values(name: string): string[] {
    return (this.#given.get(name) ?? []).flatMap((value) => (value === null ? [] : [this.#checked(name, value)]))
  }

  /** Undefined when it was not given, or without a value. */
  value(name: string): string | undefined {
    const values = this.values(name)
    if (values.length > 1)
      throw new FlagError(`Found multiple arguments for option ${name}, but you asked for only one`)
    return values[0]
  }

  number(name: string): number | undefined {
    const value = this.value(name)
    return value === undefined ? undefined : Number(value)
  }

  #checked(name: string, value: string): string {
    const kind = this.#kinds[name]
    const isNumber = kind === 'int' || kind === 'long'
    if (isNumber && !/^[+-]?\d{1,18}$/.test(value))
      throw new FlagError(`Cannot parse argument '${value}' of option ${name}`)
    return value
  }
}

function takes(kind: FlagKind, next: string): boolean {
  return kind !== 'switch' && (kind !== 'optional' || !next.startsWith('-'))
}
