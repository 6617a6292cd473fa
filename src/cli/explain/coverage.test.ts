import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokerConfigs, groupConfigs, topicConfigs } from '../../controller/config-defs.ts'
import { processConfigs } from '../../server/config/settings.ts'
import { ErrorCode, errorMessage, errorName } from '../../protocol/errors.ts'

test('every error of the protocol can be explained, by a sentence of its own', () => {
  const codes = Object.entries(ErrorCode)
  assert.ok(codes.length >= 134, `${codes.length} codes`)
  for (const [name, code] of codes) {
    assert.equal(errorName(code), name)
    assert.match(errorMessage(code), /^\S.{5,}\S$/, name)
  }
  const numbers = codes.map(([, code]) => code).toSorted((left, right) => left - right)
  assert.deepEqual(
    numbers,
    Array.from({ length: codes.length }, (_, index) => index - 1),
    'from -1 up, without holes',
  )
})

test('every setting can be explained', () => {
  for (const defs of [topicConfigs, brokerConfigs, groupConfigs, processConfigs]) {
    for (const [key, { doc }] of defs) assert.match(doc, /^\S[\s\S]{5,}$/, key)
  }
})
