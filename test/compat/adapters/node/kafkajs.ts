/** The adapter of kafkajs. */
import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import type { Failure } from '../../protocol.ts'
import { adminHandlers } from './kafkajs-admin.ts'
import { addCodecs } from '../../../support/kafkajs-codecs.ts'
import { recordHandlers } from './kafkajs-records.ts'
import { serve } from './serve.ts'

const [bootstrap = ''] = process.argv.slice(2)
const { version } = createRequire(import.meta.url)('kafkajs/package.json') as { version: string }
addCodecs()

/** What is at the bottom of an error: the others say that it was tried again, or that there were several. */
export function failureOf(error: unknown): Failure | null {
  if (!(error instanceof kafkajs.KafkaJSError || error instanceof kafkajs.KafkaJSAggregateError)) return null
  const inner = innerOf(error)
  const deeper = inner === undefined ? null : failureOf(inner)
  if (deeper !== null) return deeper
  if ('type' in error && 'code' in error)
    return { name: String(error.type), code: Number(error.code), message: error.message }
  return { name: error.name, code: null, message: error.message }
}

function innerOf(error: Error): unknown {
  if ('errors' in error) return (error.errors as unknown[])[0]
  if ('partitions' in error) return (error.partitions as { error: unknown }[]).find((each) => each.error != null)?.error
  return error.cause
}

const kafka = new kafkajs.Kafka({
  clientId: 'compat',
  brokers: [bootstrap],
  logLevel: kafkajs.logLevel.NOTHING,
  retry: { retries: 3, initialRetryTime: 200 },
})

await serve(
  {
    client: 'kafkajs',
    version,
    unsupported: {
      'null-headers': 'its headers are text or bytes',
      'static-membership': 'it has none',
      'consumer-protocol': 'it speaks the classic protocol',
      deleteOffsets: 'its admin client has none',
    },
  },
  { ...recordHandlers(kafka, failureOf), ...adminHandlers(kafka, failureOf) },
  failureOf,
)
