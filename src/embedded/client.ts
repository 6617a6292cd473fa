/** `millrace/client`: a producer, a consumer and an admin for any cluster that speaks Kafka's protocol. */
import { Admin as ClusterAdmin } from '../client/admin.ts'
import { Client, type ClientOptions } from '../client/client.ts'
import { type ConsumerOptions, Consumer as RecordConsumer } from '../client/consumer.ts'
import { type ProducerOptions, Producer as RecordProducer } from '../client/producer.ts'
import type { Logger } from '../env/logger.ts'
import { nodeEnv } from '../env-node/node-env.ts'

export type { ConsumerOptions, RebalanceListener } from '../client/consumer.ts'
export type { ConsumerRecord } from '../client/fetched-records.ts'
export type { ProducerOptions, ProducerRecord } from '../client/producer.ts'
export { ClientError } from '../rpc/errors.ts'

export interface ConnectOptions extends ClientOptions {
  /** Default: errors, as lines of JSON to stderr. */
  readonly log?: Logger
}

/** Servers to ask first, `host:port` with commas between; or that and more. */
export type Servers = string | ConnectOptions

export function connect(servers: Servers): Client {
  const { log, ...options } = typeof servers === 'string' ? ({ bootstrap: servers } as ConnectOptions) : servers
  const env = nodeEnv({ log: { level: 'error' } })
  return new Client(log === undefined ? env : { ...env, log }, options)
}

/**
 * Sends records: `await producer.send({ topic, key, value })`. Idempotent unless told otherwise. As with Kafka's own, a
 * topic that is missing comes into being where the cluster allows that.
 */
export class Producer extends RecordProducer implements AsyncDisposable {
  readonly #connections: Client

  constructor(servers: Servers, options?: ProducerOptions) {
    const client = connect({ createTopics: true, ...(typeof servers === 'string' ? { bootstrap: servers } : servers) })
    super(client, options)
    this.#connections = client
  }

  override async close(options?: { now?: boolean }): Promise<void> {
    await super.close(options)
    await this.#connections.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Reads records: `for await (const record of consumer)`, or `await consumer.poll(ms)`. */
export class Consumer extends RecordConsumer implements AsyncDisposable {
  readonly #connections: Client

  constructor(servers: Servers, options?: ConsumerOptions) {
    const client = connect(servers)
    super(client, options)
    this.#connections = client
  }

  override async close(): Promise<void> {
    await super.close()
    await this.#connections.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Topics, settings and records; `groups`, `cluster`. */
export class Admin extends ClusterAdmin implements AsyncDisposable {
  readonly #connections: Client

  constructor(servers: Servers) {
    const client = connect(servers)
    super(client)
    this.#connections = client
  }

  close(): Promise<void> {
    return this.#connections.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
