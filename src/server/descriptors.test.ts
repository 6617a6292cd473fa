import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DESCRIPTORS_MIN, shareDescriptors } from './descriptors.ts'

test('logs and connections together stay below what the process may open, with some left for the rest', () => {
  for (const limit of [DESCRIPTORS_MIN, 256, 1024, 4096, 1_048_576]) {
    const { logFilesMax, connectionsMax } = shareDescriptors(limit)
    assert.ok(logFilesMax >= 16 && logFilesMax <= 512)
    assert.ok(connectionsMax >= 48)
    assert.equal(logFilesMax + connectionsMax, limit - 64)
  }
  assert.equal(shareDescriptors(null).connectionsMax, Number.POSITIVE_INFINITY)
})
