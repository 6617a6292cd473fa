import assert from 'node:assert/strict'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { root, temporaryDirectory } from '../support/files.ts'
import { freePort } from '../support/ports.ts'
import { type Outcome, run, until } from '../support/process.ts'
import { readyTopic, retried } from '../support/retry.ts'
import { Server } from '../support/server.ts'
import { makeBatch } from '../support/wire-batch.ts'
import { produce } from '../support/wire-calls.ts'
import { Wire } from '../support/wire.ts'

const directory = temporaryDirectory('refusals')
/** A folder that a node has used and left cleanly. */
const used = join(directory, 'used')
const USAGE = 2
const DATA_REFUSED = 3
const ADDRESS_REFUSED = 4
const isRoot = process.getuid?.() === 0
let copies = 0
let port = 0

before(async () => {
  const server = await Server.start({ kind: 'millrace', directory, dataDirectory: used })
  assert.equal(await server.stop(), 0)
  port = await freePort()
})

after(() => rmSync(directory, { recursive: true, force: true }))

function copyOfUsed(): string {
  const folder = join(directory, `copy-${++copies}`)
  cpSync(used, folder, { recursive: true })
  return folder
}

function start(args: readonly string[]): Promise<Outcome> {
  const listeners = ['--listen', `127.0.0.1:${port}`, '--controller-listen', '127.0.0.1:0', '--http', 'off']
  return run(join(root, 'bin', 'millrace'), ['start', ...listeners, ...args], { timeoutMs: 30_000 })
}

async function refused(args: readonly string[], code: number, reason: RegExp): Promise<void> {
  const outcome = await start(args)
  assert.match(outcome.stderr, reason)
  assert.equal(outcome.code, code, outcome.stderr)
  assert.doesNotMatch(outcome.stderr, /^\s+at /m, 'a refusal is no stack trace')
}

const metadataLog = join('__cluster_metadata-0', '00000000000000000000.log')

function overwrite(file: string, position: number): void {
  const content = readFileSync(file)
  content[position] = (content[position] as number) ^ 0x55
  writeFileSync(file, content)
}

const damages: readonly (readonly [what: string, damage: (folder: string) => void, reason: RegExp])[] = [
  ['of another node', (folder) => edit(folder, /node\.id=1/, 'node.id=7'), /quorum .* is that of voter 1/],
  [
    'of a newer version',
    (folder) => edit(folder, /version=1/, 'version=2'),
    /has version 2; this node knows version 1/,
  ],
  ['whose owner cannot be read', (folder) => edit(folder, /^[^]*$/, 'garbage'), /meta\.properties has no version/],
  ['whose owner is not named', (folder) => rmSync(join(folder, 'meta.properties')), /holds no meta\.properties/],
  [
    'of another disk of the same node',
    (folder) => edit(folder, /directory\.id=.*/, 'directory.id=AAAAAAAAAAAAAAAAAAAAAQ'),
    /quorum .* is that of voter 1/,
  ],
  [
    'with partitions and no metadata',
    (folder) => {
      rmSync(join(folder, '__cluster_metadata-0'), { recursive: true })
      mkdirSync(join(folder, 'orders-0'))
    },
    /holds 1 partitions \(orders-0\) but no metadata/,
  ],
  [
    'with a damaged epoch',
    (folder) => writeFileSync(join(folder, '__cluster_metadata-0/quorum-state'), '{'),
    /quorum-state is not JSON/,
  ],
  [
    'without its vote',
    (folder) => rmSync(join(folder, '__cluster_metadata-0/quorum-state')),
    /holds records and no quorum-state/,
  ],
  // The counts of a batch's header say how far it reaches: a reader must not take that for "nothing here yet".
  ...[0, 10, 21, 24, 40, 58, 70].map(
    (byte) =>
      [
        `with damage at byte ${byte} of a batch of the metadata log`,
        (folder: string) => overwrite(join(folder, metadataLog), secondBatchOf(join(folder, metadataLog)) + byte),
        /is damaged at byte|has nothing at|cannot be read|ends at/,
      ] as const,
  ),
]

function edit(folder: string, pattern: RegExp, text: string): void {
  const file = join(folder, 'meta.properties')
  writeFileSync(file, readFileSync(file, 'utf8').replace(pattern, text))
}

function secondBatchOf(file: string): number {
  return 12 + readFileSync(file).readInt32BE(8)
}

for (const [what, damage, reason] of damages) {
  test(`a folder ${what} is refused, and not changed`, async () => {
    const folder = copyOfUsed()
    damage(folder)
    const before = existing(join(folder, metadataLog))
    await refused(['--data', folder], DATA_REFUSED, reason)
    assert.deepEqual(existing(join(folder, metadataLog)), before)
  })
}

function existing(file: string): Buffer | null {
  try {
    return readFileSync(file)
  } catch {
    return null
  }
}

test('a folder that holds something else, is a file, or lies where there can be none, is refused', async () => {
  const foreign = join(directory, 'foreign')
  mkdirSync(foreign)
  copyFileSync(join(root, 'package.json'), join(foreign, 'package.json'))
  await refused(['--data', foreign], DATA_REFUSED, /is not empty and holds no meta\.properties.*package\.json/)
  await refused(['--data', join(foreign, 'package.json')], DATA_REFUSED, /is a file, not a folder/)
  await refused(['--data', join(foreign, 'package.json', 'below')], DATA_REFUSED, /ENOTDIR/)
  await refused(['--data', '/proc/millrace'], DATA_REFUSED, /mkdir '\/proc\/millrace'/)
})

test('the folder of several nodes is none of a single node, and the other way round', async () => {
  const folder = join(directory, 'several')
  for (const number of [1, 2, 3]) cpSync(used, join(folder, `node-${number}`), { recursive: true })
  const before = readdirSync(folder)
  const reason = /holds the data folders of other nodes \(node-1, node-2, node-3\).*--nodes 3/
  await refused(['--data', folder], DATA_REFUSED, reason)
  assert.deepEqual(readdirSync(folder), before, 'nothing was written')
  const both = copyOfUsed()
  for (const number of [1, 2]) cpSync(used, join(both, `node-${number}`), { recursive: true })
  await refused(['--data', both], DATA_REFUSED, /holds the data folders of other nodes \(node-1, node-2\)/)
  assert.ok(existsSync(join(both, 'node-2', 'meta.properties')))
  await refused(
    ['--data', copyOfUsed(), '--nodes', '3'],
    DATA_REFUSED,
    /is the data folder of one node: --nodes 3 needs/,
  )
})

test('a folder that may not be written is refused', {
  skip: isRoot ? 'root may write everything' : false,
}, async () => {
  const folder = copyOfUsed()
  chmodSync(folder, 0o555)
  await refused(['--data', folder], DATA_REFUSED, /EACCES/)
  chmodSync(folder, 0o755)
})

test('an address that is taken, or is not of this machine, is refused with the listener that asked for it', async () => {
  const squatter = createServer().listen(port, '127.0.0.1')
  await new Promise((resolve) => squatter.once('listening', resolve))
  await refused(
    ['--data', copyOfUsed()],
    ADDRESS_REFUSED,
    new RegExp(`PLAINTEXT://127.0.0.1:${port}.*--listen.*in use`),
  )
  squatter.close()
  await refused(['--data', copyOfUsed(), '--listen', '192.0.2.1:9'], ADDRESS_REFUSED, /PLAINTEXT:\/\/192\.0\.2\.1:9/)
  await refused(
    ['--data', copyOfUsed(), '--http', '192.0.2.1:9'],
    ADDRESS_REFUSED,
    /http\.listen=192\.0\.2\.1:9 \(--http\)/,
  )
})

const settings: readonly (readonly [args: readonly string[], reason: RegExp])[] = [
  [
    ['-o', 'num.partitions=-3'],
    /-3 for configuration num\.partitions: Value must be at least 1 \(-o num\.partitions\)/,
  ],
  [['-o', 'log.retention.mss=5'], /log\.retention\.mss\. Did you mean log\.retention\.ms\?/],
  [
    ['-o', 'queued.max.request.bytes=5'],
    /queued\.max\.request\.bytes=5 .* must be at least socket\.request\.max\.bytes/,
  ],
  [['-o', 'broker.session.timeout.ms=100'], /broker\.session\.timeout\.ms=100 .* must be more than broker\.heartbeat/],
  [['-o', 'group.max.session.timeout.ms=5'], /group\.max\.session\.timeout\.ms=5 .* must be at least group\.min/],
  [
    ['-o', 'process.roles=observer'],
    /observer for configuration process\.roles: String must be one of: broker, controller/,
  ],
  [['--data', ''], /--data is empty/],
  [['--listen', 'here'], /--listen here is not host:port/],
  [['--config', '/nonexistent'], /--config \/nonexistent cannot be read/],
]

for (const [args, reason] of settings) {
  test(`millrace start ${args.join(' ')} is refused before anything is done`, async () => {
    await refused(args, USAGE, reason)
  })
}

test('a configuration file of random bytes is refused in a bounded, printable way', async () => {
  const file = join(directory, 'random.properties')
  writeFileSync(file, Buffer.from(Array.from({ length: 60_000 }, (_, n) => (n * 7919 + (n >> 3) * 104_729) & 0xff)))
  const { code, stderr } = await start(['--config', file])
  assert.equal(code, USAGE)
  assert.ok(stderr.length < 20_000, `${stderr.length} characters`)
  assert.doesNotMatch(stderr, /[^\P{Cc}\n]/u)
})

test('a process that may open too few files is refused, and one with few serves what they allow', async (context) => {
  const limited = (limit: number) => ['bash', '-c', `ulimit -n ${limit}; exec "$0" "$@"`]
  const [shell = '', ...args] = limited(100)
  const millrace = join(root, 'bin', 'millrace')
  const { code, stderr } = await run(shell, [...args, millrace, 'start', '--data', copyOfUsed()])
  assert.equal(code, USAGE)
  assert.match(stderr, /may open 100 files \(ulimit -n\); a node needs at least 128/)

  const server = await Server.start({ kind: 'millrace', directory, dataDirectory: copyOfUsed(), wrapper: limited(128) })
  context.after(() => server.kill())
  const wires: Wire[] = []
  for (let n = 0; n < 100; n++) wires.push(await Wire.connect(server.address))
  await until('some are refused', () => (wires.some(({ closed }) => closed) ? true : null), { timeoutMs: 5000 })
  assert.match(server.process.output(), /max\.connections is 48/)
  for (const wire of wires) wire.close()
  // Many partitions at once want more files than there are: some wait, none fails.
  await readyTopic(server.address, 'wide', 100)
  const produced = Array.from({ length: 100 }, (_, partition) =>
    retried(server.address, (wire) =>
      produce(wire, { topic: 'wide', partition, batch: makeBatch([{ value: Buffer.from('x') }]) }),
    ),
  )
  for (const { errorCode } of await Promise.all(produced))
    assert.ok(errorCode === 0 || errorCode === 56, `${errorCode}`)
  const again = Array.from({ length: 100 }, (_, partition) =>
    until(
      `partition ${partition} takes a record`,
      () =>
        retried(server.address, async (wire) => {
          const batch = makeBatch([{ value: Buffer.from('y') }])
          return (await produce(wire, { topic: 'wide', partition, batch })).errorCode === 0 || null
        }),
      { timeoutMs: 30_000, everyMs: 500 },
    ),
  )
  await Promise.all(again)
})
