import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiVersions } from '../protocol/apis/api-versions.ts'
import { Fetch, type FetchRequest } from '../protocol/apis/fetch.ts'
import { Metadata, type MetadataRequest } from '../protocol/apis/metadata.ts'
import { decodeRequest, decodeRequestHeader, encodeResponse } from '../protocol/codec.ts'
import type { AnyApi } from '../protocol/schema.ts'
import { answeringNet, apiVersionsOf } from '../testing/answering-net.ts'
import { ManualEnv } from '../testing/manual-env.ts'
import { Client } from './client.ts'
import { Consumer } from './consumer.ts'
import { UsageError } from './errors.ts'

function refuses(call: () => unknown, message: RegExp): void {
  assert.throws(call, (error) => error instanceof UsageError && message.test(error.message))
}

test('what would end the process when it is sent is refused at the call that brought it', async () => {
  const client = new Client(new ManualEnv().env, { bootstrap: 'node:1' })
  for (const [options, message] of [
    [{ maxBytes: 2 ** 31 }, /maxBytes 2147483648: a whole number from 1 to 2147483647/],
    [{ partitionBytes: Number.NaN }, /partitionBytes NaN/],
    [{ maxPollRecords: 0 }, /maxPollRecords 0: a number from 1 on/],
    [{ autoOffsetReset: 'first' }, /autoOffsetReset first: one of earliest, latest, none/],
  ] as const) {
    refuses(() => new Consumer(client, options as never), message)
  }
  const consumer = new Consumer(client, { groupId: 'g' })
  refuses(() => consumer.assign([{ topic: 't', partition: 0.5 }]), /partition of t 0\.5/)
  refuses(() => consumer.subscribe(['t'.repeat(40_000)]), /40000 bytes, at most 249/)
  const partition = { topic: 't', partition: 0 }
  consumer.assign([partition])
  refuses(() => consumer.seek(partition, Number.NaN), /offset NaN/)
  refuses(() => consumer.seek(partition, -5), /offset -5/)
  refuses(() => consumer.seek(partition, 'begin' as never), /offset begin: one of earliest, latest/)
  await assert.rejects(consumer.poll(Number.NaN), { code: 'USAGE' })
  await consumer.close()
  await client.close()
})

const TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAQ'
const APIS: readonly AnyApi[] = [ApiVersions, Metadata, Fetch]

/** A node whose every answer to a fetch holds these bytes. */
class Node {
  fetches = 0
  readonly net = answeringNet((frame, send) => queueMicrotask(() => send(this.#answer(frame))))
  readonly #records: Buffer

  constructor(records: Buffer) {
    this.#records = records
  }

  #answer(frame: Buffer): Buffer {
    const { apiKey, apiVersion, correlationId, reader } = decodeRequestHeader(frame)
    const api = APIS.find(({ key }) => key === apiKey) as AnyApi
    const request = decodeRequest(api, apiVersion, reader)
    return Buffer.concat(encodeResponse(api, apiVersion, correlationId, this.#body(api, request) as never))
  }

  #body(api: AnyApi, request: unknown): unknown {
    if (api === ApiVersions) return apiVersionsOf(APIS)
    if (api === Metadata) {
      const partition = { errorCode: 0, partitionIndex: 0, leaderId: 1, replicaNodes: [1], isrNodes: [1] }
      const topics = (request as MetadataRequest).topics ?? []
      const known = topics.map(({ name }) => ({ errorCode: 0, name, topicId: TOPIC_ID, partitions: [partition] }))
      return { brokers: [{ nodeId: 1, host: 'node', port: 1 }], topics: known }
    }
    this.fetches++
    const responses = (request as FetchRequest).topics.map(({ topicId }) => ({
      topicId,
      partitions: [
        { partitionIndex: 0, errorCode: 0, highWatermark: 9, abortedTransactions: null, records: [this.#records] },
      ],
    }))
    return { errorCode: 0, sessionId: 0, responses }
  }
}

test('a server that never sends a whole batch is told of, and not asked as fast as it can answer', async () => {
  const node = new Node(Buffer.alloc(30))
  const world = new ManualEnv()
  const client = new Client({ ...world.env, net: node.net }, { bootstrap: 'node:1' })
  const consumer = new Consumer(client)
  const partition = { topic: 't', partition: 0 }
  consumer.assign([partition])
  consumer.seek(partition, 5)
  const read = assert.rejects(consumer.poll(1000), /t-0 at 5: an answer without a whole batch/)
  await world.advance(1000)
  await read
  assert.ok(node.fetches <= 11, `${node.fetches} requests in a second`)
  await consumer.close()
  await client.close()
})
