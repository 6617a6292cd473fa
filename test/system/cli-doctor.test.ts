import assert from 'node:assert/strict'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MemoryBroker } from '../../src/embedded/memory-broker.ts'
import { Cli } from '../support/cli.ts'
import { removeTemporary, temporaryDirectory } from '../support/files.ts'
import { freePort } from '../support/ports.ts'
import { testServer } from '../support/test-server.ts'

interface Report {
  readonly healthy: boolean
  readonly findings: readonly { status: string; check: string; about: string; text: string; advice: string | null }[]
}

async function examine(cli: Cli, ...args: string[]) {
  const { code, stdout } = await cli.run(['doctor', '--format', 'json', ...args])
  const report = JSON.parse(stdout) as Report
  const of = (check: string) => report.findings.filter((finding) => finding.check === check)
  return { code, report, of }
}

function folder(context: TestContext): string {
  const directory = temporaryDirectory('doctor')
  context.after(() => removeTemporary(directory))
  return directory
}

test('a cluster that is well, and the folder of its node, running and stopped', async (context) => {
  const server = await testServer(context)
  const cli = new Cli(context, server.address)
  const { code, report, of } = await examine(cli)
  assert.equal(code, 0)
  assert.ok(report.healthy)
  const checks = server.kind === 'millrace' ? ['descriptors', 'memory', 'clock'] : []
  assert.deepEqual(
    report.findings.map(({ check }) => check),
    ['bootstrap', 'address', ...checks, 'versions', 'disk'],
  )
  assert.match(of('address')[0]?.text ?? '', new RegExp(`advertised as ${server.address}, answers after`))
  if (server.kind === 'kafka') return

  const running = await examine(cli, '--data', server.dataDirectory, '--bootstrap', server.address)
  assert.match(running.of('process')[0]?.text ?? '', /used by process \d+/)
  assert.match(running.of('fsync')[0]?.text ?? '', /4 KiB are on disk after .* \(p50\), .* \(p99\)/)
  await server.stop()
  const alone = new Cli(context, '')
  const stopped = await examine(alone, '--data', server.dataDirectory)
  assert.equal(stopped.of('process')[0]?.text, 'stopped cleanly')
  assert.deepEqual(stopped.of('bootstrap'), [])
  await server.start()
  await server.kill()
  assert.equal((await examine(alone, '--data', server.dataDirectory)).of('process')[0]?.status, 'warn')
  assert.ok(!readdirSync(server.dataDirectory).some((name) => name.includes('doctor')), 'it leaves nothing behind')
})

test('nobody answers, and a folder that is none', async (context) => {
  const cli = new Cli(context, `127.0.0.1:${await freePort()}`)
  const { code, of } = await examine(cli)
  assert.equal(code, 1)
  assert.match(of('bootstrap')[0]?.text ?? '', /ECONNREFUSED/)
  const directory = folder(context)
  rmSync(directory, { recursive: true })
  const missing = await examine(cli, '--data', join(directory, 'data'))
  assert.equal(missing.code, 1)
  assert.match(missing.of('folder')[0]?.text ?? '', /no such folder/)
  const unknown = await examine(cli, '--bootstrap', 'nowhere.invalid:9092')
  assert.match(unknown.of('bootstrap')[0]?.text ?? '', /the name nowhere\.invalid is not known here/)
})

test('an address that leads nowhere, or to another node, is what it says', async (context) => {
  await using other = await MemoryBroker.start()
  for (const [advertised, expected] of [
    [`127.0.0.1:${await freePort()}`, /advertised as .*ECONNREFUSED/],
    [other.bootstrapServers, /another node answers there/],
  ] as const) {
    const settings = { 'advertised.listeners': `PLAINTEXT://${advertised}` }
    const server = await testServer(context, { config: settings })
    const { code, of } = await examine(new Cli(context, server.address))
    assert.equal(code, 1)
    assert.match(of('address')[0]?.text ?? '', expected)
    assert.ok(of('address')[0]?.advice)
  }
})

test('a clock that is wrong by a day fails, and says by how much', async (context) => {
  await using broker = await MemoryBroker.start()
  await broker.clock.advance('1d')
  const { code, of } = await examine(new Cli(context, broker.bootstrapServers))
  assert.equal(code, 1)
  assert.match(of('clock')[0]?.text ?? '', /its clock is 86,400 s ahead of the one of this machine/)
})
