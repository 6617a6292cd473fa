import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differencesOf, judge } from './compare.ts'
import type { Explanation } from './explanation.ts'

const where = { client: 'kcat', case: 'keys' }
const observed = (value: unknown) => ({ kind: 'observed', value }) as const
const failed = (message: string) => ({ kind: 'failed', message }) as const
const explanation: Explanation = {
  cases: ['keys'],
  clients: null,
  at: /topics\/\d+\/code/,
  kafka: '',
  millrace: '',
  why: '',
}

test('equal observations have no differences', () => {
  assert.deepEqual(differencesOf({ a: [1, { b: null }] }, { a: [1, { b: null }] }), [])
})

test('the innermost places are told', () => {
  assert.deepEqual(differencesOf({ a: [1, 2], b: { c: 'x' } }, { a: [1, 3, 4], b: {} }), [
    { at: 'a/1', kafka: 2, millrace: 3 },
    { at: 'a/2', kafka: undefined, millrace: 4 },
    { at: 'b/c', kafka: 'x', millrace: undefined },
  ])
})

test('a list is not the object with the same fields, nor null an empty one', () => {
  assert.equal(differencesOf([], {}).length, 1)
  assert.equal(differencesOf(null, {}).length, 1)
})

test('a failure on one server is a difference, whatever was observed on the other', () => {
  for (const value of [7, null, [1], { topics: [] }]) {
    const verdict = judge(where, observed(value), failed('lost'), [], new Set())
    assert.deepEqual(verdict, { kind: 'differs', differences: [{ at: 'fails', kafka: 'ok', millrace: 'lost' }] })
    const reverse = judge(where, failed('lost'), observed(value), [], new Set())
    assert.deepEqual(reverse, { kind: 'differs', differences: [{ at: 'fails', kafka: 'lost', millrace: 'ok' }] })
  }
})

test('a failure on both is a failure, never explained', () => {
  const verdict = judge(where, failed('one'), failed('other'), [{ ...explanation, at: /.*/ }], new Set())
  assert.equal(verdict.kind, 'fails')
})

test('an explanation covers its place only, and is counted as used', () => {
  const used = new Set<Explanation>()
  const kafka = observed({ topics: [{ code: 3, name: 'a' }] })
  const code = judge(where, kafka, observed({ topics: [{ code: 4, name: 'a' }] }), [explanation], used)
  assert.equal(code.kind, 'explained')
  assert.deepEqual([...used], [explanation])
  const name = judge(where, kafka, observed({ topics: [{ code: 4, name: 'b' }] }), [explanation], used)
  assert.deepEqual(name, { kind: 'differs', differences: [{ at: 'topics/0/name', kafka: 'a', millrace: 'b' }] })
  const elsewhere = { ...where, case: 'values' }
  assert.equal(
    judge(elsewhere, kafka, observed({ topics: [{ code: 4, name: 'a' }] }), [explanation], used).kind,
    'differs',
  )
})
