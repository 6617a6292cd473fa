import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_TOPIC_ID } from '../model/ids.ts'
import type { FetchRequest } from '../protocol/apis/fetch.ts'
import { fetchRequest } from '../testing/replica-node.ts'
import { FETCH_SESSION_PARTITIONS_MAX, FetchSessions } from './fetch-sessions.ts'

const SLOTS = 30

function newSessions(max = SLOTS): FetchSessions {
  let id = 0
  return new FetchSessions(() => ++id, max)
}

function open(sessions: FetchSessions, { topics = 1, nowMs }: { topics?: number; nowMs: number }): number {
  const targets = Array.from({ length: topics }, (_, index) => [`t${index}`, {}] as const)
  const plan = sessions.plan({ ...fetchRequest(targets), sessionEpoch: 0 }, { usesTopicIds: false, nowMs })
  assert.ok(plan.kind === 'fetch')
  return plan.session?.id ?? 0
}

function goOn(
  sessions: FetchSessions,
  sessionId: number,
  sessionEpoch: number,
  nowMs: number,
  more: Partial<FetchRequest> = {},
): string {
  const plan = sessions.plan({ ...fetchRequest([]), sessionId, sessionEpoch, ...more }, { usesTopicIds: false, nowMs })
  return plan.kind === 'fetch' ? `session ${plan.session?.id ?? 0}` : `error ${plan.errorCode}`
}

test('when all slots are taken, only one that is idle, or old and smaller, makes room', () => {
  const sessions = newSessions()
  for (let n = 1; n <= SLOTS; n++) assert.equal(open(sessions, { nowMs: 0 }), n)
  assert.equal(open(sessions, { nowMs: 1000 }), 0)
  for (let id = 2; id <= SLOTS; id++) goOn(sessions, id, 1, 100_000)
  assert.equal(open(sessions, { nowMs: 120_001 }), SLOTS + 1)
  assert.equal(goOn(sessions, 1, 1, 120_001), 'error 70')
  // All the others are in use, but small and long there.
  assert.equal(open(sessions, { nowMs: 130_000 }), 0)
  assert.ok(open(sessions, { nowMs: 130_000, topics: 2 }) > 0)
  assert.equal(sessions.evicted, 2)
  assert.equal(sessions.size, SLOTS)
})

test('without slots every fetch is a whole one', () => {
  const sessions = newSessions(0)
  assert.equal(open(sessions, { nowMs: 0 }), 0)
  assert.equal(open(sessions, { nowMs: 1_000_000 }), 0)
})

test('the partitions of all sessions together are bounded', () => {
  const sessions = newSessions()
  const partitions = Array.from({ length: FETCH_SESSION_PARTITIONS_MAX - 1 }, (_, partition) => partition)
  const [topic] = fetchRequest([['big', {}]]).topics
  assert.ok(topic !== undefined)
  const [first] = topic.partitions
  assert.ok(first !== undefined)
  const topics = [{ ...topic, partitions: partitions.map((partition) => ({ ...first, partition })) }]
  const plan = sessions.plan({ ...fetchRequest([]), topics, sessionEpoch: 0 }, { usesTopicIds: false, nowMs: 0 })
  assert.ok(plan.kind === 'fetch' && plan.session !== null)
  assert.equal(open(sessions, { nowMs: 1 }), 2)
  assert.equal(open(sessions, { nowMs: 1 }), 0)
  // One that grows beyond the bound is dropped, and its client begins anew.
  const grown = { topics: fetchRequest([['other', {}]]).topics }
  assert.equal(goOn(sessions, 2, 1, 2, grown), 'error 70')
  assert.equal(open(sessions, { nowMs: 3 }), 3)
})

test('epochs wrap from 2147483647 to 1', () => {
  const sessions = newSessions()
  const plan = sessions.plan({ ...fetchRequest([['a', {}]]), sessionEpoch: 0 }, { usesTopicIds: false, nowMs: 0 })
  assert.ok(plan.kind === 'fetch' && plan.session !== null)
  plan.session.nextEpoch = 2 ** 31 - 1
  assert.equal(goOn(sessions, 1, 2 ** 31 - 1, 0), 'session 1')
  assert.equal(goOn(sessions, 1, 1, 0), 'session 1')
})

test('a session that a request empties ends, and the request is answered for what it names', () => {
  const sessions = newSessions()
  const id = open(sessions, { nowMs: 0 })
  const request = {
    ...fetchRequest([['t0', {}]]),
    sessionId: id,
    sessionEpoch: 1,
    forgottenTopicsData: [{ topic: 't0', topicId: NO_TOPIC_ID, partitions: [0] }],
  }
  const plan = sessions.plan(request, { usesTopicIds: false, nowMs: 1 })
  assert.ok(plan.kind === 'fetch')
  assert.deepEqual([plan.session, plan.targets.map(({ topic }) => topic)], [null, ['t0']])
  assert.equal(sessions.size, 0)
})
