import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withTempDir } from '../testing/temp-dir.ts'
import { readBytes, readText } from './read-file.ts'

test('a file is read whole, up to a limit that the refusal names', async () => {
  await withTempDir(async (folder) => {
    const file = join(folder, 'f')
    for (const bytes of [0, 1, 65_536, 200_000]) {
      writeFileSync(file, Buffer.alloc(bytes, 'é'))
      assert.ok(readBytes(file).equals(Buffer.alloc(bytes, 'é')), `${bytes}`)
    }
    assert.equal(readBytes(file, 200_000).length, 200_000)
    assert.throws(() => readBytes(file, 199_999), /it has more than 195 KiB, and no more is read/)
    assert.throws(() => readText(join(folder, 'none')), /ENOENT/)
    assert.throws(() => readText(folder), /EISDIR/)
  })
  assert.throws(() => readText('/dev/zero'), /it has more than 16 MiB, and no more is read/)
})
