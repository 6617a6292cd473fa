import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOf } from './lines.ts'
import { ToolExit } from './tool.ts'

async function* chunks(...texts: (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text)
}

async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = []
  for await (const line of lines) found.push(line)
  return found
}

test('lines end as those of a Java reader do, wherever the chunks are cut', async () => {
  const text = 'a\nb\r\nc\rd\n\n\u2028e\u2029é\r\n'
  const expected = ['a', 'b', 'c', 'd', '', '\u2028e\u2029é']
  const bytes = Buffer.from(text)
  for (let cut = 0; cut <= bytes.length; cut++) {
    const parts = chunks(bytes.subarray(0, cut), bytes.subarray(cut))
    assert.deepEqual(await all(linesOf(parts)), expected, `cut at ${cut}`)
  }
  assert.deepEqual(await all(linesOf(chunks('a\r', '\rb'))), ['a', '', 'b'])
  assert.deepEqual(await all(linesOf(chunks('a\r'))), ['a'])
  assert.deepEqual(await all(linesOf(chunks('\r'))), [''])
  assert.deepEqual(await all(linesOf(chunks())), [])
})

test('a line without end is refused by the limit, and not gathered until memory is out', async () => {
  async function* zeros(): AsyncGenerator<Buffer> {
    for (;;) yield Buffer.alloc(1000)
  }
  await assert.rejects(all(linesOf(zeros(), 10_000)), (error) => {
    return error instanceof ToolExit && error.code === 1 && /more than 10000 characters/.test(error.message)
  })
})
