import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/files.ts'
import { runOrFail } from '../support/process.ts'

/** Runs in a process of its own, where the garbage collector comes when it is called. */
const program = `
import { MemoryBroker } from ${JSON.stringify(join(root, 'src/embedded/testing.ts'))}
async function startAndClose(count) {
  for (let index = 0; index < count; index++) {
    const broker = await MemoryBroker.start()
    await broker.produce('orders', ['a record'])
    await broker.close()
  }
}
async function held() {
  for (let time = 0; time < 3; time++) {
    await new Promise((resolve) => setImmediate(resolve))
    gc()
  }
  const { heapUsed, external } = process.memoryUsage()
  return { heapUsed, external, resources: process.getActiveResourcesInfo() }
}
await startAndClose(50)
const before = await held()
await startAndClose(500)
console.log(JSON.stringify({ before, after: await held() }))
`

test('five hundred brokers that were started and closed in one process leave nothing behind', async () => {
  const output = await runOrFail(process.execPath, ['--expose-gc', '--input-type=module', '-e', program])
  const { before, after } = JSON.parse(output)
  assert.deepEqual(after.resources, before.resources)
  // One broker holds more than a megabyte; what V8 compiles meanwhile, and ids that are remembered, are some kilobytes each.
  assert.ok(after.external - before.external < 2e6, `${after.external - before.external} bytes outside of the heap`)
  assert.ok(after.heapUsed - before.heapUsed < 6e6, `${after.heapUsed - before.heapUsed} bytes of the heap`)
})
