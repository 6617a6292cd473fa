import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withTempDir } from '../../testing/temp-dir.ts'
import { checkFolder } from './folder.ts'

test('a file in the place of a folder is a finding and no crash', async () => {
  const [found] = await checkFolder(import.meta.filename)
  assert.match(JSON.stringify(found), /it is a file and no folder/)
})

test('what a killed doctor left in a data folder goes with the next one', async () => {
  await withTempDir(async (folder) => {
    writeFileSync(join(folder, '.doctor'), Buffer.alloc(8192), { mode: 0o600 })
    await checkFolder(folder)
    assert.deepEqual(readdirSync(folder), [])
  })
})
