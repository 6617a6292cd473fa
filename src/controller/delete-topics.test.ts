import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_TOPIC_ID } from '../model/ids.ts'
import { DeleteTopics } from '../protocol/apis/delete-topics.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { ShardCluster } from '../testing/shard-cluster.ts'

test('as many topics without name and id as a request can hold are refused one by one', () => {
  const topics = Array.from({ length: 99_999 }, () => ({ name: null, topicId: NO_TOPIC_ID }))
  const { responses } = new ShardCluster().ask(DeleteTopics, { topics, topicNames: [], timeoutMs: 1 })
  assert.equal(responses.length, topics.length)
  assert.ok(responses.every(({ errorCode }) => errorCode === ErrorCode.INVALID_REQUEST))
})
