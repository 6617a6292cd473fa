import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { Cli } from '../support/cli.ts'
import { removeTemporary, root, temporaryDirectory } from '../support/files.ts'
import { run } from '../support/process.ts'
import { missingTools, pythonPath } from '../support/toolchain.ts'

const COMMAND = join(root, 'bin', 'millrace')

/** A running `millrace dev`, held by a pipe. */
async function dev(context: TestContext, ...args: string[]) {
  const child = spawn(COMMAND, ['dev', '--format', 'json', ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  context.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const { bootstrap, control } = JSON.parse(line) as { bootstrap: string; control: string }
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${control}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> }
  }
  return { child, ended, bootstrap, ask }
}

test('a broker for tests does what they ask by HTTP, and ends with whoever holds its stdin', async (context) => {
  const { child, ended, bootstrap, ask } = await dev(context, '--topic', 'orders:1')
  const cli = new Cli(context, bootstrap)
  await cli.text(['produce', 'orders', '-f', '%k:%v\\n'], 'ada:tea\n')
  await ask('POST', '/topics/orders/records', ['milk', { valueBase64: '/w==', headers: [{ key: 'h', value: '1' }] }])
  const { json } = await ask('GET', '/topics/orders/records?count=3')
  assert.deepEqual(
    (json as unknown as Record<string, unknown>[]).map(({ timestampMs: _, topic: __, ...rest }) => rest),
    [
      { partition: 0, offset: 0, key: 'ada', value: 'tea' },
      { partition: 0, offset: 1, key: null, value: 'milk' },
      { partition: 0, offset: 2, key: null, valueBase64: '/w==', headers: [{ key: 'h', value: '1' }] },
    ],
  )
  await cli.text(['consume', 'orders', '-g', 'billing', '-n', '2'])
  assert.equal((await ask('GET', '/groups/billing')).json['lag'], 1)

  const missing = await ask('GET', '/groups/biling')
  assert.equal(missing.status, 404)
  assert.match(String(missing.json['error']), /group biling: The group does not exist \(GROUP_ID_NOT_FOUND\)/)

  const late = await ask('GET', '/topics/orders/records?count=4&withinMs=1')
  assert.equal(late.status, 408)
  assert.match(
    String(late.json['error']),
    /^after 1 ms orders has 3 records, where 4 are waited for; there: "tea", "milk", /,
  )
  for (const [method, path, body, expected] of [
    ['POST', '/faults', { api: 'Prod', type: 'disconnect' }, /no API Prod/],
    ['POST', '/faults', { api: 'Produce', type: 'explode' }, /disconnect, lose-answer, delay or error/],
    ['POST', '/clock/advance', { by: 'a week' }, /no duration/],
    ['POST', '/topics', { name: 'orders' }, /TOPIC_ALREADY_EXISTS/],
    ['POST', '/topics/orders/records', { value: 'x' }, /an array of records/],
  ] as const) {
    const { status, json } = await ask(method, path, body)
    assert.equal(status, 400, path)
    assert.match(String(json['error']), expected)
  }
  assert.equal((await ask('GET', '/nothing')).status, 404)
  assert.equal((await ask('POST', '/reset', undefined, { origin: 'http://evil.example' })).status, 403)

  await ask('POST', '/reset')
  assert.deepEqual((await ask('GET', '/topics/orders/records')).json, [])
  child.stdin.end()
  assert.deepEqual(await ended, [0, null])
})

test('a broker for tests refuses what makes no sense by its name, and goes on', async (context) => {
  const { ask } = await dev(context)
  for (const [method, path, body, expected] of [
    ['POST', '/clock/advance', { by: 1e300 }, /1e\+300 ms on is not within 1970 and 9999/],
    ['POST', '/clock/advance', { by: '99999999999d' }, /not within 1970 and 9999/],
    ['POST', '/topics', { name: 'a', partitions: 1.5 }, /partitions 1\.5: a whole number/],
    [
      'POST',
      '/topics',
      { name: 'a', settings: { 'retention.ms': '1' } },
      /"settings": a topic may have name, partitions/,
    ],
    ['POST', '/topics', { name: 'a', configs: { 'retention.ms': {} } }, /retention\.ms {}: a text/],
    ['POST', '/topics', { name: 'a'.repeat(32_768) }, /string of 32768 bytes, at most 32767/],
    ['POST', '/topics/a/records', [{ value: 'x', partition: 77 }], /no partition 77, it has 1/],
    ['POST', '/topics/a/records', [{ vlaue: 'x' }], /"vlaue": record 0 may have topic, .*value/],
    ['POST', '/topics/a/records', ['x', { valueBase64: '?' }], /record 1: valueBase64 "\?" is no Base64/],
    ['POST', '/topics/a/records', [{ headers: { h: '1' } }], /headers of record 0: an array is wanted, \[\{"key"/],
    ['POST', '/topics/a/records', [{ headers: [{ key: 5 }] }], /header 0 of record 0: key 5; a text is wanted/],
    ['POST', '/topics/a/records', [{ headers: [{ value: '1' }] }], /header 0 of record 0: key is missing; a text/],
    ['POST', '/topics/a/records', [7], /record 0 7; an object of JSON is wanted/],
    ['GET', '/topics/a/records?count=x', undefined, /count "x": a whole number is wanted/],
    ['POST', '/faults', { api: 'Produce' }, /type is missing; disconnect, lose-answer/],
    ['POST', '/clock/advance', undefined, /the body is missing; an object of JSON is wanted/],
    ['POST', '/faults', { api: 'Heartbeat', type: 'error', error: 'toString' }, /'toString' is no error/],
    ['POST', '/faults', { api: 'Produce', type: 'delay', ms: 2 ** 40 }, /ms 1099511627776: a whole number from 0 to/],
    ['POST', '/faults', { api: 'Produce', type: 'disconnect', times: 0 }, /times 0: a whole number from 1/],
    ['GET', '//', undefined, /is no path/],
    ['GET', '/topics/%zz/records', undefined, /is no path/],
  ] as const) {
    const { status, json } = await ask(method, path, body)
    assert.equal(status, 400, path)
    assert.match(String(json['error']), expected)
  }
  await ask('POST', '/clock/advance', { by: 0.5 })
  await ask('POST', '/topics', { name: 'b', configs: { 'retention.ms': 60_000 } })
  await ask('POST', '/topics/b/records', ['after it all'])
  assert.equal(((await ask('GET', '/topics/b/records')).json as unknown as unknown[]).length, 1)
})

test('what is wrong with the command line of a broker for tests is said before anything is started', async (context) => {
  const { bootstrap } = await dev(context)
  const cli = new Cli(context, bootstrap)
  const port = bootstrap.split(':')[1] as string
  for (const [args, code, expected] of [
    [['--port', port], 4, /in use|EADDRINUSE/],
    [['--port', 'x'], 2, /--port x: a number/],
    [['--topic', 'a:0'], 2, /NAME:PARTITIONS/],
    [['-o', 'num.partition=1'], 2, /num\.partitions/],
  ] as const) {
    const { code: ended, stderr } = await cli.run(['dev', ...args])
    assert.equal(ended, code, stderr)
    assert.match(stderr, expected)
  }
})

test('the example in Python runs as it is documented', async (context) => {
  const missing = await missingTools(['python-client'])
  if (missing.length > 0) return context.skip(`no ${missing.join(', ')}`)
  const directory = temporaryDirectory('python')
  context.after(() => removeTemporary(directory))
  const text = readFileSync(join(root, 'docs', 'embedding.md'), 'utf8')
  const [, name = '', code = ''] = /```python\n# (\S+)\n([\s\S]*?)```/.exec(text) ?? []
  writeFileSync(join(directory, name), code)
  symlinkSync(COMMAND, join(directory, 'millrace'))
  const env = { PATH: `${directory}:${process.env.PATH}` }
  const outcome = await run(pythonPath(), [name], { cwd: directory, env, timeoutMs: 60_000 })
  assert.equal(outcome.code, 0, outcome.stdout + outcome.stderr)
  assert.match(outcome.stderr, /Ran 2 tests[\s\S]*OK/)
})
