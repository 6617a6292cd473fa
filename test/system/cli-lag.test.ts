import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cli } from '../support/cli.ts'
import { until } from '../support/process.ts'
import { testServer } from '../support/test-server.ts'
import { missingTools } from '../support/toolchain.ts'

interface ListedAtRisk {
  readonly groupId: string
  readonly risk: { readonly partitions: number; readonly records: number; readonly lostRecords: number }
}

test('who is about to lose what, and who has, is shown by group ls and group describe', async (context) => {
  const server = await testServer(context, { kind: 'millrace', config: { 'log.retention.check.interval.ms': '200' } })
  const cli = new Cli(context, server.address)
  await cli.text(['topic', 'create', 'orders', '-p', '1', '-c', 'retention.ms=36000000'])
  const timestampMs = Date.now() - 9.5 * 3_600_000
  await cli.text(['produce', 'orders', '-f', '%d %v\\n'], `${timestampMs} a\n${timestampMs} b\n${timestampMs} c\n`)
  assert.equal(await cli.text(['consume', 'orders', '-g', 'billing', '-n', '1']), 'a\n')
  const atRisk = await until(
    'the group is at risk',
    async () => {
      const groups = await cli.json<ListedAtRisk[]>(['group', 'ls', '--at-risk'])
      return groups.length > 0 ? groups : null
    },
    { timeoutMs: 20_000, everyMs: 200 },
  )
  assert.deepEqual(
    atRisk.map(({ groupId, risk }) => [groupId, risk.partitions, risk.records, risk.lostRecords]),
    [['billing', 1, 2, 0]],
  )
  assert.match(await cli.text(['group', 'ls', '--at-risk']), /billing +Empty +1 +2 +(29m \d+s|30m) +0\n/)
  assert.match(await cli.text(['group', 'describe', 'billing']), /orders +0 +1 +3 +2 +9h 30m .* AT RISK/)
  await cli.text(['topic', 'alter', 'orders', '-c', 'retention.ms=1000'])
  const lost = await until(
    'the records are gone',
    async () => {
      const text = await cli.text(['group', 'describe', 'billing'])
      return text.includes('lost: ') ? text : null
    },
    { timeoutMs: 20_000, everyMs: 200 },
  )
  assert.match(lost, /lost: orders-0 offsets 1 to 2, 2 records, deleted unread, noticed \d{4}-/)
})

test('of a cluster of Apache Kafka the lag is shown in records, and it is said that it does not tell more', async (context) => {
  if ((await missingTools(['kafka'])).length > 0) {
    context.skip('Apache Kafka is not here (npm run tools)')
    return
  }
  const server = await testServer(context, { kind: 'kafka' })
  const cli = new Cli(context, server.address)
  await cli.text(['topic', 'create', 'orders', '-p', '1'])
  await cli.text(['produce', 'orders'], 'a\nb\n')
  assert.equal(await cli.text(['consume', 'orders', '-g', 'billing', '-n', '1']), 'a\n')
  assert.match(await cli.text(['group', 'describe', 'billing']), /orders +0 +1 +2 +1 +- +- +- /)
  const { code, stderr } = await cli.run(['group', 'ls', '--at-risk'])
  assert.equal(code, 1)
  assert.match(stderr, /this cluster does not tell which groups are at risk/)
})
