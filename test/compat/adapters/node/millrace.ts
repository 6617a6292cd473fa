/** The adapter of `millrace/client`. */
import { ClientError } from '../../../../src/embedded/client.ts'
import packageJson from '../../../../package.json' with { type: 'json' }
import type { Failure } from '../../protocol.ts'
import { adminHandlers } from './millrace-admin.ts'
import { recordHandlers } from './millrace-records.ts'
import { serve } from './serve.ts'

const [bootstrap = ''] = process.argv.slice(2)

export function failureOf(error: unknown): Failure | null {
  if (!(error instanceof ClientError)) return null
  const code = 'errorCode' in error ? Number(error.errorCode) : null
  return { name: error.code, code, message: error.message }
}

await serve(
  {
    client: 'millrace/client',
    version: packageJson.version,
    unsupported: { 'consumer-protocol': 'it speaks the classic protocol' },
  },
  { ...recordHandlers(bootstrap, failureOf), ...adminHandlers(bootstrap, failureOf) },
  failureOf,
)
