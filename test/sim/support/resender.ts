import assert from 'node:assert/strict'
import { InitProducerId } from '../../../src/protocol/apis/init-producer-id.ts'
import { Produce } from '../../../src/protocol/apis/produce.ts'
import { buildBatch } from '../../../src/protocol/batch/build.ts'
import { errorName, isRetriable } from '../../../src/protocol/errors.ts'
import type { ClusterClient } from '../../../src/sim/clients/cluster-client.ts'
import { digestOf, payloadOf } from '../../../src/sim/clients/payload.ts'
import type { ClusterRun } from './cluster-run.ts'

const NAME = 'otto'
/** What a broker remembers of a producer. */
const REMEMBERED = 5
const WITHIN_MS = 60_000

/** An idempotent producer that repeats acknowledged batches, and must be told each time where they are. */
export class Resender {
  readonly #run: ClusterRun
  readonly #client: ClusterClient
  readonly #sent: { readonly bytes: Buffer; readonly baseOffset: number }[] = []
  #identity = { producerId: -1, producerEpoch: -1 }
  #sequence = 0

  constructor(run: ClusterRun) {
    this.#run = run
    this.#client = run.cluster.client(NAME).client
  }

  async begin(): Promise<void> {
    const asked = this.#client.persist(async () => {
      const body = { transactionalId: null, transactionTimeoutMs: 60_000 }
      const answer = await (await this.#client.any()).request(InitProducerId, body, { fromVersion: 3 })
      return answer.errorCode === 0 ? answer : null
    })
    const { producerId, producerEpoch } = await this.#run.sim.within(asked, {
      withinMs: WITHIN_MS,
      what: 'a producer id',
    })
    this.#identity = { producerId, producerEpoch }
  }

  /** A new batch of `count` records, until it is acknowledged. */
  async send(count: number): Promise<void> {
    const { history } = this.#run.load
    const { random, env } = this.#client
    const records = Array.from({ length: count }, (_, i) => {
      return payloadOf(`${NAME}-${this.#sequence + i}`, NAME, random, env.clock.wallMs())
    })
    const sends = records.map((payload, i) => {
      const { timestampMs } = payload
      const id = `${NAME}-${this.#sequence + i}`
      return history.send({ id, producer: NAME, partition: 'orders-0', digest: digestOf(payload), timestampMs })
    })
    const bytes = buildBatch({ records, baseSequence: this.#sequence, ...this.#identity })
    this.#sequence += count
    const baseOffset = await this.#produce(bytes)
    sends.forEach((send, i) => history.acked(send, baseOffset + i, { isRetried: true }))
    this.#sent.push({ bytes, baseOffset })
  }

  /** The last batches once more, in any order: each is where it was. */
  async sendAgain(): Promise<void> {
    const { random } = this.#client
    const remembered = this.#sent.slice(-REMEMBERED)
    for (let times = random.between(1, 4); times > 0; times--) {
      const { bytes, baseOffset } = random.pick(remembered)
      assert.equal(await this.#produce(bytes), baseOffset, 'H3: a batch that is sent again is where it was')
    }
  }

  /** The offset that was told. */
  #produce(bytes: Buffer): Promise<number> {
    const produced = this.#client.persist(async () => {
      const { topicId } = await this.#client.topic('orders')
      const wire = await this.#client.leaderOf('orders', 0)
      // The log of a leader owns what it is given: each request has its own bytes.
      const partitionData = [{ index: 0, records: [Buffer.from(bytes)] }]
      const body = { acks: -1, timeoutMs: 5000, topicData: [{ name: 'orders', topicId, partitionData }] }
      const answer = await wire.request(Produce, body)
      const { errorCode, baseOffset } = answer.responses[0]?.partitionResponses[0] ?? { errorCode: -1, baseOffset: -1 }
      if (errorCode === 0) return { baseOffset }
      assert.ok(isRetriable(errorCode), `a batch that was acknowledged before: ${errorName(errorCode)}`)
      this.#client.forget('orders')
      return null
    })
    const what = 'a batch is acknowledged'
    return this.#run.sim.within(produced, { withinMs: WITHIN_MS, what }).then(({ baseOffset }) => baseOffset)
  }
}
