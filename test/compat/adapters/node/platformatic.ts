/** The adapter of @platformatic/kafka. */
import { createRequire } from 'node:module'
import { Admin, GenericError, MultipleErrors } from '@platformatic/kafka'
import type { Failure } from '../../protocol.ts'
import { adminHandlers } from './platformatic-admin.ts'
import { recordHandlers } from './platformatic-records.ts'
import { serve } from './serve.ts'

const [bootstrap = ''] = process.argv.slice(2)
const main = createRequire(import.meta.url).resolve('@platformatic/kafka')
const { version } = createRequire(main)('../package.json') as { version: string }

/** What the server said is at the bottom of an error, as `apiId` and `apiCode`. */
function failureOf(error: unknown): Failure | null {
  if (!(error instanceof Error) || !(GenericError.isGenericError(error) || MultipleErrors.isMultipleErrors(error))) {
    return null
  }
  if ('apiId' in error) {
    return {
      name: String(error.apiId),
      code: Number(error.apiCode),
      message: `${error.message} ${error.serverErrorMessage}`,
    }
  }
  const inner = [...('errors' in error ? (error.errors as unknown[]) : []), error.cause]
  for (const each of inner) {
    const found = failureOf(each)
    if (found !== null && found.code !== null) return found
  }
  return { name: error.code, code: null, message: error.message }
}

const options = { clientId: 'compat', bootstrapBrokers: [bootstrap], retries: 3, retryDelay: 200, timeout: 8000 }

await serve(
  {
    client: '@platformatic/kafka',
    version,
    unsupported: {
      validateOnly: 'it cannot ask for that',
    },
  },
  { ...recordHandlers(options, failureOf), ...adminHandlers(new Admin(options), failureOf) },
  failureOf,
)
