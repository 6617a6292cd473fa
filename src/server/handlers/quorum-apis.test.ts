import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../base/random.ts'
import { METADATA_TOPIC, METADATA_TOPIC_ID } from '../../model/ids.ts'
import { decodeResponse, encodeResponse } from '../../protocol/codec.ts'
import { randomStruct } from '../../protocol/random-value.ts'
import type { AnyApi } from '../../protocol/schema.ts'
import { NoAnswerError } from '../../quorum/errors.ts'
import type { InboundRequest } from '../../raft/types.ts'
import { simulate } from '../../sim/sim.ts'
import { CLUSTER_ID } from '../../testing/quorum-node.ts'
import { type Controller, QuorumWorld } from '../../testing/quorum-world.ts'
import { quorumApis } from './quorum-apis.ts'

const REQUESTS = 150

/** Any values, but often about this cluster, its log and its present epoch. */
function plausible(body: Record<string, unknown>, controller: Controller, random: Random): Record<string, unknown> {
  const { epoch } = controller.quorum.facts
  const fitting: Record<string, unknown> = {
    clusterId: random.pick([CLUSTER_ID, null]),
    topic: METADATA_TOPIC,
    topicName: METADATA_TOPIC,
    name: METADATA_TOPIC,
    topicId: METADATA_TOPIC_ID,
    partition: 0,
    partitionIndex: 0,
    replicaEpoch: epoch + random.below(3) - 1,
    leaderEpoch: epoch + random.below(3) - 1,
    currentLeaderEpoch: epoch,
    lastFetchedEpoch: epoch - random.below(2),
    maxWaitMs: 5,
    leaderId: random.below(5),
    replicaId: random.below(5),
  }
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit)
    if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [
        key,
        key in fitting && random.chance(0.9) ? fitting[key] : visit(each),
      ]),
    )
  }
  return visit(body) as Record<string, unknown>
}

async function ask(controller: Controller, api: AnyApi, version: number, random: Random): Promise<void> {
  const body = plausible(randomStruct(api.request as never, version, random), controller, random)
  const topics = body['topics']
  if (Array.isArray(topics) && topics.length > 1 && random.chance(0.8)) topics.length = 1
  try {
    const request = { api: api.name, body } as unknown as InboundRequest
    const response = await controller.quorum.answer(request, version, random.pick(['CONTROLLER', 'OTHER']))
    const frame = Buffer.concat(encodeResponse(api, version, 1, response.body as never))
    decodeResponse(api, version, frame.subarray(4))
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error
  }
}

for (let seed = 1; seed <= 6; seed++) {
  test(`no request about the quorum, of any version and with any values, stops it for long (seed ${seed})`, async () => {
    await simulate({ seed }, async (sim) => {
      const all = new QuorumWorld(sim)
      await all.grow(3)
      await all.register()
      const random = new Random(seed)
      for (const controller of all.controllers) {
        for (const { api, served } of quorumApis(controller.quorum)) {
          for (let i = 0; i < REQUESTS / 8; i++) {
            void ask(controller, api, random.between(served[0], served[1]), random)
            await sim.runFor(random.below(10))
          }
        }
      }
      await sim.runFor(2000)
      await all.register()
      assert.ok(all.acknowledged.length === 2)
      await all.level()
    })
  })
}
