import { Admin } from '../../client/admin.ts'
import { Client } from '../../client/client.ts'
import { nodeEnv } from '../../env-node/node-env.ts'
import type { Session } from '../connect.ts'
import { write } from '../output.ts'
import type { FlagKinds, Flags } from './flags.ts'

/** One of Kafka's shell tools. */
export interface Tool {
  readonly kinds: FlagKinds
  /** Returns the exit code. Throws `FlagError`, `ToolExit`, `IllegalArgument`. */
  run(flags: Flags, args: readonly string[]): Promise<number>
}

/** The tool ends here, with what it has to say. */
export class ToolExit extends Error {
  override name = 'ToolExit'
  readonly code: number
  readonly stream: 'stdout' | 'stderr'

  constructor(code: number, stream: 'stdout' | 'stderr', message: string) {
    super(message)
    this.code = code
    this.stream = stream
  }
}

/** What the tool was asked for failed, and it says so in its own way. */
export class CommandFailure extends Error {
  override name = 'CommandFailure'
}

/** What the command line asks for makes no sense; Kafka's tools print all their flags behind it, ours where they are. */
export function usage(message: string): ToolExit {
  return new ToolExit(1, 'stderr', `${message}\n(--help lists the options)`)
}

/** A flag or a property of Kafka's that is not served here. */
export function unsupported(what: string): ToolExit {
  return new ToolExit(1, 'stderr', `${what} is not supported by Millrace's tools`)
}

export function out(text: string): Promise<void> {
  return write(text)
}

export function err(text: string): void {
  process.stderr.write(text)
}

const CONNECT_TIMEOUT_MS = 5_000
const CALL_TIMEOUT_MS = 30_000

/** Runs `work` with a client of the cluster, and closes it. */
export async function withServers<T>(
  bootstrap: string,
  { clientId = 'millrace-kafka-tools', callTimeoutMs = CALL_TIMEOUT_MS, createTopics = false },
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const env = nodeEnv({ log: { level: 'error', format: 'text' } })
  const connectTimeoutMs = Math.min(CONNECT_TIMEOUT_MS, callTimeoutMs)
  const client = new Client(env, { bootstrap, clientId, connectTimeoutMs, callTimeoutMs, createTopics })
  try {
    return await work({ client, admin: new Admin(client) })
  } finally {
    await client.close()
  }
}

/** `Option "[a]" can't be used with option "[b]"` where both were given. */
export function refusePairs(flags: Flags, used: string, others: readonly string[]): void {
  for (const other of others) {
    if (other !== used && flags.has(used) && flags.has(other))
      throw usage(`Option "[${used}]" can't be used with option "[${other}]"`)
  }
}

export function requireFlags(flags: Flags, ...names: string[]): void {
  for (const name of names) if (!flags.has(name)) throw usage(`Missing required argument "[${name}]"`)
}
