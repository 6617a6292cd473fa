import { createInterface } from 'node:readline'
import type { Answer, Command, Declaration, Failure, Op } from '../../protocol.ts'

/** What an adapter does for each command; a command without a handler is an error of the adapter. */
export type Handlers = { readonly [O in Op]?: (command: Command<O>) => Promise<Answer<O>> }

export function bytesOf(base64: string | null): Buffer | null {
  return base64 === null ? null : Buffer.from(base64, 'base64')
}

export function base64Of(bytes: Uint8Array | null | undefined): string | null {
  return bytes == null ? null : Buffer.from(bytes).toString('base64')
}

/** Collects what a client hands out in calls of its own, for `poll`, which asks. */
export class Inbox<T> {
  #items: T[] = []
  #wake: (() => void) | null = null
  #failure: Error | null = null

  put(item: T): void {
    this.#items.push(item)
    this.#wake?.()
  }

  fail(error: Error): void {
    this.#failure = error
    this.#wake?.()
  }

  /** What is there, as soon as something is, or nothing after the time. */
  async take(max: number, forMs: number): Promise<T[]> {
    if (this.#items.length === 0 && this.#failure === null) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, forMs)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      this.#wake = null
    }
    if (this.#failure !== null) throw this.#failure
    return this.#items.splice(0, max)
  }
}

/** Answers the commands on standard input, one after the other, until it ends. */
export async function serve(
  declaration: Declaration,
  handlers: Handlers,
  failureOf: (error: unknown) => Failure | null,
): Promise<never> {
  const say = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`)
  say(declaration)
  for await (const line of createInterface({ input: process.stdin })) {
    const { op, ...command } = JSON.parse(line) as { op: Op }
    const handler = handlers[op] as ((command: object) => Promise<object>) | undefined
    try {
      if (handler === undefined) throw new Error(`no ${op} in this adapter`)
      say({ ok: await handler(command) })
    } catch (error) {
      const failure = failureOf(error)
      // A mistake of the adapter: it ends, and the case fails.
      if (failure === null) throw error
      say({ error: failure })
    }
  }
  process.exit(0)
}
