import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuorumState, printQuorumState } from './quorum-state.ts'

const STATE = { leaderId: 2, leaderEpoch: 15, votedId: 3, votedDirectoryId: 'c2ltdWxhdGVkLXRvcGljLQ' }

test('a vote is read back', () => {
  assert.deepEqual(parseQuorumState(printQuorumState(STATE)), STATE)
})

test('one flipped bit in a vote is noticed, wherever it is', () => {
  const whole = Buffer.from(printQuorumState(STATE))
  for (let bit = 0; bit < 8 * whole.length; bit++) {
    const damaged = Buffer.from(whole)
    damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7))
    assert.throws(() => parseQuorumState(damaged.toString('utf8')), /quorum-state/, `bit ${bit}`)
  }
})

test('a vote that Kafka has written has no checksum', () => {
  const { leaderId, leaderEpoch, votedId, votedDirectoryId } = STATE
  const json = JSON.stringify({ leaderId, leaderEpoch, votedId, votedDirectoryId, data_version: 1 })
  assert.deepEqual(parseQuorumState(json), STATE)
  assert.equal(parseQuorumState('{"leaderId":1,"leaderEpoch":3,"votedId":-1,"data_version":0}').leaderEpoch, 3)
})
