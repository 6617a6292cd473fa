import assert from 'node:assert/strict'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Cli } from '../support/cli.ts'
import { removeTemporary, root, temporaryDirectory } from '../support/files.ts'
import { runTool } from '../support/kafka-oracle.ts'
import { type Outcome, run } from '../support/process.ts'
import { testServer } from '../support/test-server.ts'
import { missingTools } from '../support/toolchain.ts'

/** Commands as a script has them: the tool's name without `kafka-`, flags, and `<<<` with what it reads. */
function parse(command: string, address: string) {
  const [line = '', input] = command.split(' <<<')
  const [tool = '', ...args] = line.split(' ')
  return { tool, args: ['--bootstrap-server', address, ...args], input: JSON.parse(`"${input ?? ''}"`) as string }
}

function theirs(command: string, address: string): Promise<Outcome> {
  const { tool, args, input } = parse(command, address)
  return runTool(tool, args, { input, timeoutMs: 60_000 })
}

function ours(command: string, address: string): Promise<Outcome> {
  const { tool, args, input } = parse(command, address)
  return run(join(root, 'bin', 'millrace'), [`kafka-${tool}`, ...args], { input, timeoutMs: 60_000 })
}

/** What each printed, its exit code, and what it complained of first; of the Java client's own notices nothing. */
function essence({ code, stdout, stderr }: Outcome) {
  const complaint = stderr.split('\n').find((line) => line !== '' && !line.includes('KIP-848')) ?? ''
  // A stack trace behind what stdout has said already is not imitated.
  const isTrace = complaint.startsWith('java.util.concurrent.ExecutionException')
  return { code, stdout, complaint: isTrace ? '' : complaint }
}

/** On two nodes with the same past, one tool each; only what was made at another time is masked. */
const CHANGING = [
  'topics --create --topic orders --partitions 5 --config retention.ms=3600000',
  'topics --create --topic audit --replica-assignment 1,1',
  'topics --create --topic a_b --if-not-exists',
  'topics --create --topic a.b',
  'topics --create --topic orders --if-not-exists',
  'topics --create --topic orders',
  'topics --create --topic x --replication-factor 3',
  'topics --create --topic x --config retention.mss=1',
  'topics --alter --topic audit --partitions 3',
  'topics --alter --topic audit --partitions 2',
  'topics --delete --topic a_b',
  'topics --delete --topic nothing',
  'topics --list --create',
  'configs --alter --topic orders --add-config cleanup.policy=[compact,delete],segment.ms=1000',
  'configs --alter --topic orders --delete-config segment.ms',
  'configs --alter --topic orders --add-config retention.ms=abc',
  'configs --alter --broker 1 --add-config log.cleaner.threads=2',
  'configs --alter --broker-defaults --add-config log.cleaner.threads=3',
  'configs --alter --group billing --add-config consumer.session.timeout.ms=50000',
  'configs --alter --topic nothing --add-config retention.ms=1',
  'console-producer --topic orders --reader-property parse.key=true --reader-property key.separator=: <<<a:1\\nb:2\\nc:3\\nd:4\\ne:5\\n',
  'console-producer --topic audit --property parse.headers=true --property null.marker=NUL <<<h:1,i:NUL\\tone\\nh:2\\tNUL\\n',
  'console-producer --topic audit --reader-property parse.key=true <<<nokey\\n',
  'console-producer --topic orders --compression-codec lz9 <<<x\\n',
  'consumer-groups --reset-offsets --group billing --topic orders --topic audit:1,0 --to-earliest --execute',
  'consumer-groups --reset-offsets --group billing --topic orders:1 --to-offset 100 --execute',
  'consumer-groups --reset-offsets --group second --topic orders --to-latest --execute',
  'consumer-groups --delete-offsets --group billing --topic audit --topic nothing',
  'consumer-groups --delete --group second --group nothing',
  'consumer-groups --delete --group second --topic orders',
]

/** Of one node, both tools: nothing is masked. */
const LOOKING = [
  'topics --list --exclude-internal',
  'topics --describe',
  'topics --describe --topic orders --at-min-isr-partitions',
  'topics --describe --topics-with-overrides',
  'topics --describe --topic nothing',
  'configs --describe --topic orders --all',
  'configs --describe --entity-type topics',
  'configs --describe --entity-type brokers',
  'configs --describe --group billing',
  'configs --describe --broker 99',
  'console-consumer --topic orders --partition 0 --offset earliest --timeout-ms 2000 --formatter-property print.key=true --formatter-property print.offset=true --formatter-property print.timestamp=true',
  'console-consumer --topic audit --from-beginning --max-messages 2 --formatter-property print.headers=true --formatter-property print.partition=true --property null.literal=NIL',
  'console-consumer --topic audit --from-beginning --timeout-ms 3000 --formatter-property print.headers=true --formatter-property null.literal=NIL',
  'console-consumer --topic orders --offset 1',
  'consumer-groups --list',
  'consumer-groups --list --state --type',
  'consumer-groups --describe --group billing',
  'consumer-groups --describe --all-groups --verbose',
  'consumer-groups --describe --group active --members --verbose',
  'consumer-groups --describe --group active --state',
  'consumer-groups --describe --group nothing',
  'consumer-groups --reset-offsets --group billing --all-topics --shift-by 1 --dry-run',
  'consumer-groups --reset-offsets --group billing --group fresh --topic orders --by-duration PT1H --export',
  'consumer-groups --reset-offsets --group active --topic orders --to-earliest --dry-run',
  'consumer-groups --delete-offsets --group active --topic orders',
]

async function activeGroup(context: TestContext, address: string): Promise<void> {
  const cli = new Cli(context, address)
  cli.background(context, ['consume', 'orders', '-g', 'active', '-f', ''])
  const isStable = async () => {
    const [group] = await cli.json<{ state: string }[]>(['group', 'describe', 'active']).catch(() => [])
    return group?.state === 'Stable'
  }
  while (!(await isStable()));
}

test("Kafka's tools and ours of the same names print the same", { timeout: 280_000 }, async (context) => {
  const missing = await missingTools(['kafka'])
  if (missing.length > 0) return context.skip(`no ${missing.join(', ')}`)
  const [first, second] = await Promise.all([
    testServer(context, { kind: 'millrace' }),
    testServer(context, { kind: 'millrace' }),
  ])
  const outcomes = async (tool: typeof ours, address: string) => {
    const all: Outcome[] = []
    for (const command of CHANGING) all.push(await tool(command, address))
    return all
  }
  const [expected, found] = await Promise.all([outcomes(theirs, first.address), outcomes(ours, second.address)])
  for (const [index, command] of CHANGING.entries()) {
    const masked = ({ complaint, ...rest }: ReturnType<typeof essence>) => ({
      ...rest,
      complaint: complaint.replaceAll(first.address, 'NODE').replaceAll(second.address, 'NODE'),
    })
    assert.deepEqual(masked(essence(found[index] as Outcome)), masked(essence(expected[index] as Outcome)), command)
  }

  await activeGroup(context, first.address)
  for (const command of LOOKING) {
    const [real, own] = [await theirs(command, first.address), await ours(command, first.address)]
    assert.deepEqual(essence(own), essence(real), command)
  }
})

test('under their names by a link, and what is not served says so', async (context) => {
  const server = await testServer(context, { kind: 'millrace' })
  const directory = temporaryDirectory('links')
  context.after(() => removeTemporary(directory))
  const link = join(directory, 'kafka-topics.sh')
  symlinkSync(join(root, 'bin', 'millrace'), link)
  assert.equal(
    (await run(link, ['--bootstrap-server', server.address, '--create', '--topic', 'a'])).stdout,
    'Created topic a.\n',
  )
  writeFileSync(join(directory, 'sasl.properties'), 'security.protocol=SASL_PLAINTEXT\n')
  const secured = [
    '--bootstrap-server',
    server.address,
    '--list',
    '--command-config',
    join(directory, 'sasl.properties'),
  ]
  const refused = await run(link, secured)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /the property security\.protocol is not supported/)
  for (const command of [
    'configs --describe --user ada',
    'consumer-groups --validate-regex a.*',
    'console-consumer --topic a --formatter org.apache.kafka.tools.consumer.OffsetsMessageFormatter',
  ]) {
    const { code, stderr } = await ours(command, server.address)
    assert.equal(code, 1)
    assert.match(stderr, /not supported by Millrace's tools/)
  }
})
