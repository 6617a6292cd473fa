import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DescribeGroups } from '../../src/protocol/apis/describe-groups.ts'
import { compareOutcomes } from './compare.ts'
import { Pairs } from './pairs.ts'
import type { Outcome } from './side.ts'
import type { Step } from './step.ts'

const step: Step = { api: DescribeGroups, version: 5, body: { groups: ['g'] } }

function members(...all: readonly (readonly [memberId: string, clientId: string])[]): Outcome {
  const answer = { groups: [{ groupId: 'g', members: all.map(([memberId, clientId]) => ({ memberId, clientId })) }] }
  return { sent: {}, kind: 'answer', answer }
}

function differingFields(pairs: Pairs, theirs: Outcome, ours: Outcome): string[] {
  return compareOutcomes(step, theirs, ours, pairs, 'g').map(({ path }) => path)
}

test('of two members that nothing tells apart none stands for another until something does', () => {
  const pairs = new Pairs()
  assert.deepEqual(differingFields(pairs, members(['k1', 'c'], ['k2', 'c']), members(['m2', 'c'], ['m1', 'c'])), [])
  assert.deepEqual(differingFields(pairs, members(['k1', 'c']), members(['m1', 'c'])), [])
  assert.deepEqual(differingFields(pairs, members(['k2', 'c'], ['k1', 'c']), members(['m1', 'c'], ['m2', 'c'])), [])
})

test('members whose ids are new are compared by the rest of them, in whichever order they come', () => {
  const theirs = members(['k1', 'one'], ['k2', 'other'])
  assert.deepEqual(differingFields(new Pairs(), theirs, members(['m2', 'other'], ['m1', 'one'])), [])
  assert.deepEqual(differingFields(new Pairs(), theirs, members(['m2', 'one'], ['m1', 'one'])), [
    'groups.members.clientId',
  ])
})

test('an id that is the same on both sides stands for itself', () => {
  const pairs = new Pairs()
  assert.deepEqual(differingFields(pairs, members(['7', 'c']), members(['7', 'c'])), [])
  assert.deepEqual(differingFields(pairs, members(['7', 'c']), members(['8', 'c'])), [
    'groups.members[]',
    'groups.members[]',
  ])
})
