import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MetadataRecord } from '../metadata/records.ts'
import type { TopicId } from '../model/ids.ts'
import { simulate } from '../sim/sim.ts'
import { defaultLogConfig } from '../storage/config.ts'
import { LogManager } from '../storage/log-manager.ts'
import { buildMetadataBatch, encodeParts } from './metadata-batch.ts'
import { removedTopics } from './removed-topics.ts'

const idOf = (letter: string) => `${letter.repeat(21)}A` as TopicId
const remove = (letter: string): MetadataRecord => ({ type: 'RemoveTopic', value: { topicId: idOf(letter) } })

test('only removals that took effect are a proof, and only committed ones', async () => {
  await simulate({ seed: 1 }, async (sim) => {
    const { env } = sim.addMachine('one').boot()
    const logs = await LogManager.open(env, { folder: '/data', nodeId: 1, clusterId: 'test-cluster' })
    const log = await logs.openLog({ topic: 'm', partition: 0 }, idOf('M'), defaultLogConfig)
    const append = (...records: MetadataRecord[]) => {
      for (const part of encodeParts(records, 33)) {
        log.appendAsLeader(buildMetadataBatch(part, { wallMs: 1 }), { leaderEpoch: 1, wallMs: 1 })
      }
    }
    append({ type: 'Topic', value: { name: 'a', topicId: idOf('B') } }, remove('C'))
    append({ type: 'BeginTransaction', value: { name: null } })
    append(remove('D'))
    append(remove('E'), { type: 'EndTransaction', value: {} })
    append({ type: 'BeginTransaction', value: { name: null } }, remove('F'))
    append({ type: 'AbortTransaction', value: { reason: 'a crash' } })
    append(remove('G'))
    const committed = log.endOffset
    append(remove('H'))
    append({ type: 'BeginTransaction', value: { name: null } }, remove('I'))
    assert.deepEqual([...(await removedTopics(log, committed))], [idOf('C'), idOf('D'), idOf('E'), idOf('G')])
    await log.flush()
    await log.advanceStartOffset(3)
    assert.deepEqual([...(await removedTopics(log, log.endOffset))], ['D', 'E', 'G', 'H'].map(idOf))
  })
})
