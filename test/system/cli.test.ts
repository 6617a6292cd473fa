import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Cli } from '../support/cli.ts'
import { freePort } from '../support/ports.ts'
import { testServer } from '../support/test-server.ts'

async function start(context: TestContext) {
  const server = await testServer(context)
  return { server, cli: new Cli(context, server.address) }
}

interface DescribedTopic {
  readonly partitions: { partition: number; leader: number; isr: number[]; startOffset: number; endOffset: number }[]
  readonly settings: Record<string, { value: string; source: string }>
}

interface DescribedGroup {
  readonly state: string
  readonly members: { clientId: string }[]
  readonly partitions: { topic: string; partition: number; committed: number | null; endOffset: number; lag: number }[]
}

interface Rewound {
  readonly done: boolean
  readonly recordsAgain: number
  readonly recordsSkipped: number
  readonly bytesAgain: number
  readonly sinceMs: number | null
  readonly partitions: { partition: number; from: number | null; to: number; records: number }[]
}

test('errors and settings are explained, and where a value comes from', async (context) => {
  const { cli } = await start(context)
  const meaning = 'NOT_ENOUGH_REPLICAS (19): Nothing was written: fewer replicas are in sync than the topic demands.'
  for (const word of ['19', 'NOT_ENOUGH_REPLICAS', 'NotEnoughReplicasException']) {
    assert.ok((await cli.text(['explain', word])).startsWith(`${meaning}\n`), word)
  }
  assert.match((await cli.run(['explain', 'NOT_ENUOGH_REPLICA'])).stderr, /; did you mean NOT_ENOUGH_REPLICAS\?/)
  assert.match((await cli.run(['explain', 'NOT_ENOUGH'])).stderr, /; did you mean NOT_ENOUGH_REPLICAS or NOT_ENOUGH_/)

  const text = await cli.text(['config', 'explain', 'retention.ms'])
  assert.match(text, /^retention\.ms of a topic: /)
  assert.match(text, /it is the node's log\.retention\.ms, else log\.retention\.minutes, else log\.retention\.hours/)
  await cli.text(['topic', 'create', 'orders', '-c', 'retention.ms=60000'])
  const { effective } = await cli.json<{ effective: unknown }>(['config', 'explain', 'retention.ms', '-t', 'orders'])
  assert.deepEqual(effective, {
    of: 'topic orders',
    value: '60000',
    source: 'topic',
    behind: [{ name: 'retention.ms', value: '60000', source: 'topic' }],
  })
  assert.match((await cli.run(['config', 'explain', 'retention.mss'])).stderr, /; did you mean retention\.ms\?/)
})

test('topics are made, shown, changed and removed', async (context) => {
  const { server, cli } = await start(context)
  await cli.text(['topic', 'create', 'orders', 'audit', '-p', '3', '-c', 'retention.ms=86400000'])
  const listed = await cli.json<{ name: string; partitions: number; replicas: number }[]>(['topic', 'ls'])
  assert.deepEqual(
    listed.map(({ name, partitions, replicas }) => [name, partitions, replicas]),
    [
      ['audit', 3, 1],
      ['orders', 3, 1],
    ],
  )
  await cli.text(['produce', 'orders', '-p', '1'], 'a\nb\n')
  const [topic] = await cli.json<DescribedTopic[]>(['topic', 'describe', 'orders'])
  assert.deepEqual(
    topic?.partitions.map(({ leader, isr, startOffset, endOffset }) => [leader, isr, startOffset, endOffset]),
    [
      [1, [1], 0, 0],
      [1, [1], 0, 2],
      [1, [1], 0, 0],
    ],
  )
  assert.deepEqual(topic?.settings['retention.ms'], { value: '86400000', source: 'topic' })
  if (server.kind === 'millrace') {
    assert.deepEqual(topic?.settings['durability.mode'], { value: 'fsync', source: 'default' })
    assert.match(await cli.text(['topic', 'describe', 'orders']), /durability\.mode=fsync/)
  }

  await cli.text(['topic', 'alter', 'orders', '-p', '4', '-c', 'retention.ms=1000', '-c', 'cleanup.policy=compact'])
  await cli.text(['topic', 'alter', 'orders', '-d', 'cleanup.policy'])
  const [altered] = await cli.json<DescribedTopic[]>(['topic', 'describe', 'orders', '--all'])
  assert.equal(altered?.partitions.length, 4)
  assert.deepEqual(altered?.settings['retention.ms'], { value: '1000', source: 'topic' })
  assert.equal(altered?.settings['cleanup.policy']?.value, 'delete')

  assert.match(await cli.text(['topic', 'rm', 'orders']), /2 records.*would be lost\nnothing was done; add --yes/)
  assert.match(await cli.text(['topic', 'ls']), /orders/)
  await cli.text(['topic', 'rm', 'orders', '--yes'])
  assert.doesNotMatch(await cli.text(['topic', 'ls']), /orders/)
})

test('records go in and come out in the formats of rpk, from and to the offsets that were asked for', async (context) => {
  const { cli } = await start(context)
  await cli.text(['topic', 'create', 'orders', '-p', '1'])
  const acknowledged = await cli.text(
    ['produce', 'orders', '-f', '%d %k:%v\\n', '-H', 'from:test', '-o', '%t/%p %o %k\\n'],
    '1700000000000 a:one\n1700000060000 b:two\n1700003600000 c:three',
  )
  assert.equal(acknowledged, 'orders/0 0 a\norders/0 1 b\norders/0 2 c\n')
  const values = async (offset: string, ...args: string[]) =>
    (await cli.text(['consume', 'orders', '-o', offset, ...args])).split('\n').filter((line) => line !== '')
  assert.deepEqual(await values(':end'), ['one', 'two', 'three'])
  assert.deepEqual(await values('1:end'), ['two', 'three'])
  assert.deepEqual(await values('1:2'), ['two'])
  assert.deepEqual(await values(':1'), ['one'])
  assert.deepEqual(await values('+1', '-n', '1'), ['two'])
  assert.deepEqual(await values('-1:end'), ['three'])
  assert.deepEqual(await values('start', '-n', '2'), ['one', 'two'])
  assert.deepEqual(await values('@1700000000001:end'), ['two', 'three'])
  assert.deepEqual(await values('@2023-11-14T22:13:20Z:1m'), ['one'])
  assert.deepEqual(await values('@-1h:end'), [])
  assert.deepEqual(await values(':end', '-f', '%o %k{hex} %V %h{%k=%v} %d{strftime[%F %T]}\\n'), [
    '0 61 3 from=test 2023-11-14 22:13:20',
    '1 62 3 from=test 2023-11-14 22:14:20',
    '2 63 5 from=test 2023-11-14 23:13:20',
  ])
  const json = (await values('2:3', '-f', 'json')).map((line) => JSON.parse(line) as unknown)
  assert.deepEqual(json, [
    {
      topic: 'orders',
      partition: 0,
      offset: 2,
      timestampMs: 1_700_003_600_000,
      key: 'c',
      value: 'three',
      headers: [{ key: 'from', value: 'test' }],
    },
  ])
})

test('the same key goes to the same partition, and every codec comes out as it went in', async (context) => {
  const { cli } = await start(context)
  await cli.text(['topic', 'create', 'orders', '-p', '8'])
  for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd']) {
    await cli.text(['produce', 'orders', '-k', 'customer-7', '-z', codec], `${codec}\n`)
  }
  const lines = (await cli.text(['consume', 'orders', '-o', ':end', '-f', '%p %v %a{compression}\\n'])).split('\n')
  const fields = lines.filter((line) => line !== '').map((line) => line.split(' '))
  assert.equal(new Set(fields.map(([partition]) => partition)).size, 1)
  assert.deepEqual(
    fields.map(([, value, codec]) => [value, codec]),
    ['none', 'gzip', 'snappy', 'lz4', 'zstd'].map((codec) => [codec, codec]),
  )
})

test('any bytes go through pipes unharmed, raw and as JSON', async (context) => {
  const { cli } = await start(context)
  await cli.text(['topic', 'create', 'bytes', 'copy', '-p', '1'])
  const bytes = Buffer.concat([Buffer.from([0, 10, 13, 0xff, 0xfe, 0xc3, 0x28]), randomBytes(300_000)])
  writeFileSync(join(cli.directory, 'in'), bytes)
  const { code, stderr } = await cli.shell(`
    millrace produce bytes -f %v < in &&
    millrace consume bytes -o :end -f %v > out &&
    millrace consume bytes -o :end -f json | millrace produce copy -f json &&
    millrace consume copy -o :end -f %v > out-of-copy`)
  assert.equal(code, 0, stderr)
  assert.ok(readFileSync(join(cli.directory, 'out')).equals(bytes))
  assert.ok(readFileSync(join(cli.directory, 'out-of-copy')).equals(bytes))
})

test('lines come out as they went in, however slowly they are read, and a reader may leave early', async (context) => {
  const { cli } = await start(context)
  await cli.text(['topic', 'create', 'lines', '-p', '1'])
  const lines = Array.from({ length: 50_000 }, (_, i) => `${i}\n`).join('')
  writeFileSync(join(cli.directory, 'in'), lines)
  const slow = await cli.shell(`
    millrace produce lines -o '%o\\n' < in | (sleep 1; cat) > offsets
    millrace consume lines -o :end | (sleep 1; cat) > out`)
  assert.equal(slow.code, 0, slow.stderr)
  assert.equal(slow.stderr, 'produced 50,000 records\n')
  assert.equal(readFileSync(join(cli.directory, 'offsets'), 'utf8'), lines)
  assert.equal(readFileSync(join(cli.directory, 'out'), 'utf8'), lines)
  const early = await cli.shell(`{ millrace consume lines; echo $? >&2; } | head -n 2`)
  assert.equal(early.stdout, '0\n1\n')
  assert.equal(early.stderr, '0\n')
})

test('consume waits for what comes, through a kill -9 of the node, and ends cleanly at Ctrl-C', async (context) => {
  const { server, cli } = await start(context)
  await cli.text(['topic', 'create', 'orders', '-p', '1'])
  await cli.text(['produce', 'orders'], 'before\n')
  const reader = cli.background(context, ['consume', 'orders', '-f', '%o %v\\n'])
  await reader.printed('0 before\n')
  await cli.text(['produce', 'orders'], 'meanwhile\n')
  await reader.printed('0 before\n1 meanwhile\n')
  await server.kill()
  await server.start()
  await cli.text(['produce', 'orders'], 'after\n')
  await reader.printed('0 before\n1 meanwhile\n2 after\n')
  assert.equal(await reader.interrupt(), 0)
  assert.equal(reader.errors(), '')
})

test('an offset that is yet to come is waited for, and nothing before it is printed', async (context) => {
  const { cli } = await start(context)
  await cli.text(['topic', 'create', 'orders', '-p', '1'])
  await cli.text(['produce', 'orders'], 'zero\none\n')
  const reader = cli.background(context, ['consume', 'orders', '-o', '3:5', '-f', '%o %v\\n'])
  await reader.complained(/orders-0 ends at 2; waiting for offset 3/)
  await cli.text(['produce', 'orders'], 'two\nthree\nfour\nfive\n')
  await reader.printed('3 three\n4 four\n')
})

test('dump shows every kind of file of a data folder, for people and for programs', async (context) => {
  const { server, cli } = await start(context)
  await cli.text(['topic', 'create', 'orders', '-p', '1'])
  await cli.text(['produce', 'orders', '-k', 'a'], 'one\ntwo\n')
  await cli.text(['consume', 'orders', '-g', 'billing', '-n', '2'])
  const file = (name: string) => join(server.dataDirectory, name)
  const segment = file('orders-0/00000000000000000000.log')
  assert.match(await cli.text(['dump', segment, '--records']), /^baseOffset: 0 .*\n\| offset: 0 .*key: a value: one\n/)
  const [batch, record] = (await cli.text(['dump', segment, '--records', '--format', 'json'])).split('\n')
  assert.deepEqual((({ baseOffset, count }) => [baseOffset, count])(JSON.parse(batch ?? '')), [0, 2])
  assert.deepEqual((({ offset, key, value }) => [offset, key, value])(JSON.parse(record ?? '')), [0, 'a', 'one'])
  const metadata = file('__cluster_metadata-0/00000000000000000000.log')
  const both = (await cli.text(['dump', segment, metadata, '--format', 'json'])).trimEnd().split('\n')
  assert.deepEqual([...new Set(both.map((line) => (JSON.parse(line) as { file: string }).file))], [segment, metadata])
  assert.match(both.join('\n'), /"type":"Topic".*"name":"orders"/)
  assert.match(await cli.text(['dump', file('orders-0/partition.metadata')]), /^version: 0\ntopic_id: /)
  assert.equal(await cli.text(['dump', file('meta.properties')]), readFileSync(file('meta.properties'), 'utf8'))
})

test('a group goes on where it stopped, and is rewound only after it was shown what that means', async (context) => {
  const { cli } = await start(context)
  await cli.text(['topic', 'create', 'orders', '-p', '1'])
  await cli.text(
    ['produce', 'orders', '-f', '%d %v\\n'],
    '1700000000000 a\n1700000060000 b\n1700000120000 c\n1700000180000 d\n',
  )
  assert.equal(await cli.text(['consume', 'orders', '-g', 'billing', '-n', '1']), 'a\n')
  assert.equal(await cli.text(['consume', 'orders', '-g', 'billing', '-n', '2']), 'b\nc\n')
  const committed = async () => {
    const [group] = await cli.json<DescribedGroup[]>(['group', 'describe', 'billing'])
    return group?.partitions.map(({ committed: offset, endOffset, lag }) => [offset, endOffset, lag])
  }
  assert.deepEqual(await committed(), [[3, 4, 1]])
  assert.match(await cli.text(['group', 'ls']), /billing +Empty/)

  const shown = await cli.json<Rewound>(['group', 'rewind', 'billing', '--to', '2023-11-14T22:14:00Z'])
  assert.deepEqual(
    shown.partitions.map(({ from, to, records }) => [from, to, records]),
    [[3, 1, 2]],
  )
  assert.deepEqual([shown.done, shown.recordsAgain, shown.sinceMs], [false, 2, 1_700_000_060_000])
  assert.ok(shown.bytesAgain > 0)
  assert.deepEqual(await committed(), [[3, 4, 1]], 'showing changes nothing')

  const text = await cli.text(['group', 'rewind', 'billing', '--to', '2023-11-14T22:14:00Z', '--yes'])
  assert.match(text, /2 records \(about \d+ B\) will be read again/)
  assert.equal(await cli.text(['consume', 'orders', '-g', 'billing', '-n', '3']), 'b\nc\nd\n')

  for (const [to, offset] of [
    ['earliest', 0],
    ['latest', 4],
    ['2', 2],
    ['1h', 4],
  ] as const) {
    const moved = await cli.json<Rewound>(['group', 'rewind', 'billing', '--to', to, '--topic', 'orders:0', '--yes'])
    assert.equal(moved.done, true)
    assert.deepEqual(await committed(), [[offset, 4, 4 - offset]], to)
  }
  await cli.text(['group', 'rm', 'billing', '--yes'])
  assert.equal((await cli.run(['group', 'describe', 'billing'])).code, 1)
})

test('a group with members is neither rewound nor removed, and it is said who they are', async (context) => {
  const { cli } = await start(context)
  await cli.text(['topic', 'create', 'orders', '-p', '2'])
  await cli.text(['produce', 'orders', '-p', '0'], 'a\n')
  const member = cli.background(context, ['consume', 'orders', '-g', 'billing'])
  await member.printed('a\n')
  const [group] = await cli.json<DescribedGroup[]>(['group', 'describe', 'billing'])
  assert.equal(group?.members.length, 1)
  const rewind = await cli.run(['group', 'rewind', 'billing', '--to', 'earliest', '--yes'])
  assert.equal(rewind.code, 1)
  assert.match(rewind.stderr, /^millrace: group billing .*millrace-cli\/127\.0\.0\.1.*\n$/)
  const removal = await cli.run(['group', 'rm', 'billing', '--yes'])
  assert.equal(removal.code, 1)
  assert.match(removal.stderr, /^millrace: .*billing.*NON_EMPTY_GROUP.*\n$/)
  assert.equal(removal.stdout, '')
  // A member that ends says so: nobody has to wait for its session to expire, and what it printed is committed.
  assert.equal(await member.interrupt(), 0)
  const rewound = await cli.json<Rewound>(['group', 'rewind', 'billing', '--to', 'earliest', '--yes'])
  assert.equal(rewound.recordsAgain, 1)
})

test('what cannot be done is refused at once, in one line with the value, and by its own exit code', async (context) => {
  const { cli } = await start(context)
  await cli.text(['topic', 'create', 'orders', '-p', '2'])
  const cases: [args: string[], code: number, message: RegExp, input?: string][] = [
    [['topic', 'describe', 'nosuch'], 1, /topic nosuch/],
    [['topic', 'alter', 'orders', '-p', '1'], 1, /2 partition.*1 would not be an increase/],
    [['topic', 'alter', 'orders', '-c', 'retention.ms=-7'], 1, /-7.*retention\.ms/],
    [['topic', 'alter', 'orders', '-c', 'retention'], 2, /retention is not key=value/],
    [['topic', 'alter', 'orders'], 2, /nothing to change/],
    [['topic', 'alter', 'orders', '-d', 'retention.mss'], 1, /orders has no setting retention\.mss/],
    [['topic', 'create', 'x', '-p', '0'], 2, /--partitions 0/],
    [['topic', 'ls', '--format', 'xml'], 2, /xml/],
    [['topic', 'lst'], 2, /lst/],
    [['produce', 'nosuch'], 1, /topic nosuch/, 'x\n'],
    [['produce', 'orders', '-p', '2'], 2, /orders has no partition 2, it has 2/, 'x\n'],
    [['produce', 'orders', '-f', '%k:%v\\n'], 1, /record 2/, 'a:1\nb\n'],
    [['produce', 'orders', '-f', '%q'], 2, /unknown %q/],
    [['produce', 'orders', '-f', 'json'], 1, /line 2 is not JSON/, '{"value":"x"}\n{\n'],
    [['produce', 'orders', '-H', 'x'], 2, /--header x/],
    [['produce', 'orders', '-z', 'rar'], 2, /rar/],
    [['produce', 'orders', '-f', '%v'], 1, /2000020 bytes; the limit is 1048576/, 'x'.repeat(2_000_000)],
    [['consume', 'nosuch'], 1, /topic nosuch/],
    [['consume', 'nosuch', '-g', 'readers'], 1, /topic nosuch/],
    [['consume', 'orders', '-o', 'newest'], 2, /--offset newest/],
    [['consume', 'orders', '-o', '5:2'], 2, /--offset 5:2 ends before it begins/],
    [['consume', 'orders', '-p', '0,7'], 1, /orders has no partition 7/],
    [['consume', 'orders', '-n', '-1'], 2, /--num -1/],
    [['consume', 'orders', '-f', '%'], 2, /lone %/],
    [['consume', 'orders', '-g', 'readers', '-o', '5'], 2, /-g/],
    [['group', 'describe', 'nosuch'], 1, /nosuch/],
    [['group', 'rm', 'nosuch'], 1, /no such group: nosuch/],
    [['start', '--config', '/dev/zero'], 2, /--config \/dev\/zero cannot be read: it has more than 16 MiB/],
    [['dump', '/dev/zero'], 1, /\/dev\/zero: it has more than 256 MiB, and no more is read/],
    [['group', 'rewind', 'nosuch', '--to', 'earliest'], 1, /nosuch/],
    [['group', 'rewind', 'readers', '--to', 'yesterday'], 2, /--to yesterday/],
    [['group', 'rewind', 'readers', '--to', '1h', '--topic', 'orders:7'], 2, /0 to 1/],
  ]
  for (const [args, expected, message, input] of cases) {
    const { code, stderr } = await cli.run(args, input ?? '')
    const what = `millrace ${args.join(' ')}: ${stderr}`
    assert.equal(code, expected, what)
    assert.match(stderr, message, what)
    // The second line may suggest what was meant.
    assert.match(stderr, /^millrace: .*\n(\(Did you mean .*\n)?$/, what)
  }
})

test('where and how may be said in front of a verb, and what cannot says where it stands', async (context) => {
  const { server, cli } = await start(context)
  await cli.text(['topic', 'create', 'orders'])
  const away = ['-s', `127.0.0.1:${await freePort()}`]
  const here = server.address
  for (const before of [['-s', here], [`-s${here}`], ['--server', here], [`--server=${here}`]]) {
    const { stdout, stderr } = await new Cli(context, away[1] ?? '').run([...before, '--format=json', 'topic', 'ls'])
    assert.match(stdout, /"name": "orders"/, stderr)
  }
  assert.match(await new Cli(context, '127.0.0.1:1').text(['topic', '-s', here, 'ls']), /orders/)
  assert.equal((await cli.run([...away, 'topic', 'ls', '-s', here])).code, 0, 'the last holds')
  const cases: [args: string[], message: RegExp][] = [
    [['--data', 'x', 'start'], /--data stands behind the command that it is for: millrace start … --data/],
    [['topic', '--partitions', '3', 'create', 'x'], /millrace topic create … --partitions/],
    [['-s', here, 'tpic', 'ls'], /unknown command 'tpic'[^]*topic/],
    [['-s', here, 'kafka-topics', '--list'], /millrace kafka-topics --bootstrap-server HOST:PORT/],
    [['kafka-acls', '--list'], /kafka-acls is none of Kafka's tools that this can be: kafka-topics, kafka-configs/],
    [['--versoin'], /unknown option '--versoin'/],
  ]
  for (const [args, message] of cases) {
    const { code, stderr } = await cli.run(args)
    assert.equal(code, 2, stderr)
    assert.match(stderr, message)
  }
  const help = await cli.text(['--help'])
  for (const tool of ['kafka-topics', 'kafka-console-consumer']) assert.ok(help.includes(tool), tool)
})

test('a server that is away is told as such', async (context) => {
  const cli = new Cli(context, `127.0.0.1:${await freePort()}`)
  const verbs = [
    ['topic', 'ls'],
    ['produce', 'orders'],
    ['consume', 'orders'],
    ['consume', 'orders', '-g', 'g'],
  ]
  for (const { code, stderr } of await Promise.all(verbs.map((args) => cli.run(args, 'x\n')))) {
    assert.equal(code, 5, stderr)
    assert.match(stderr, /^millrace: no answer from 127\.0\.0\.1:\d+: .*ECONNREFUSED.*\n$/)
  }
})

test('every verb explains itself with examples', async (context) => {
  const cli = new Cli(context, '127.0.0.1:9092')
  const verbs = ['topic create', 'topic ls', 'topic describe', 'topic alter', 'topic rm', 'produce', 'consume']
  verbs.push('group ls', 'group describe', 'group rewind', 'group rm', 'dump', 'start')
  for (const verb of verbs) {
    assert.match(await cli.text([...verb.split(' '), '--help']), new RegExp(`\\$ .*millrace ${verb}`), verb)
  }
})
