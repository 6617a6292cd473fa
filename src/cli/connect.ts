import { Admin } from '../client/admin.ts'
import { Client } from '../client/client.ts'
import { UsageError } from '../client/errors.ts'
import { ClientError, ConnectionError, TimeoutError } from '../rpc/errors.ts'
import { nodeEnv } from '../env-node/node-env.ts'
import { CommandError, ExitCode } from './exit-code.ts'
import { DEFAULT_SERVER, namedServer } from './defaults.ts'

/** What every verb that talks to a cluster takes. */
export interface ServerFlags {
  readonly server?: string
}

export interface Session {
  readonly client: Client
  readonly admin: Admin
}

/** Runs `work` with a client of the cluster, and closes it. What fails comes out as `CommandError` with its exit code. */
export async function withCluster<T>(flags: ServerFlags, work: (session: Session) => Promise<T>): Promise<T> {
  const bootstrap = namedServer(flags.server) ?? DEFAULT_SERVER
  const env = nodeEnv({ log: { level: 'error', format: 'text' } })
  let client: Client | null = null
  try {
    client = new Client(env, { bootstrap, clientId: 'millrace-cli', connectTimeoutMs: 3_000, callTimeoutMs: 5_000 })
    return await work({ client, admin: new Admin(client) })
  } catch (error) {
    throw asCommandError(error, bootstrap)
  } finally {
    await client?.close()
  }
}

function asCommandError(error: unknown, bootstrap: string): unknown {
  if (error instanceof UsageError) return new CommandError(ExitCode.usage, error.message)
  if (error instanceof ConnectionError || error instanceof TimeoutError) {
    return new CommandError(ExitCode.unreachable, `no answer from ${bootstrap}: ${error.message}`)
  }
  return error instanceof ClientError ? new CommandError(ExitCode.failed, error.message) : error
}
