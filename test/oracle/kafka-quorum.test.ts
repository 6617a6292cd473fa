import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { parseQuorumState, printQuorumState } from '../../src/quorum/quorum-state.ts'
import { QuorumNode, type QuorumNodeOptions } from '../../src/testing/quorum-node.ts'
import { temporaryDirectory } from '../support/files.ts'
import { KafkaNode } from '../support/kafka-node.ts'
import { runTool } from '../support/kafka-oracle.ts'
import { freePort } from '../support/ports.ts'
import { until as within } from '../support/process.ts'
import { testServer } from '../support/test-server.ts'
import { skipWithout } from '../support/toolchain.ts'

const env = nodeEnv({ log: { level: 'error' } })
/** Minutes on a small machine. */
const skip = process.env.MILLRACE_MIXED === '1' ? await skipWithout('kafka') : 'MILLRACE_MIXED=1 runs it'
const CLUSTER = 'bWlsbHJhY2UtdGVzdC0wMQ'

function until<T>(what: string, probe: () => T | null, timeoutMs = 60_000): Promise<T> {
  return within(what, probe, { timeoutMs, everyMs: 10 })
}

function addressOf({ controllerAddress }: KafkaNode): { host: string; port: number } {
  const [host = '', port = ''] = controllerAddress.split(':')
  return { host, port: Number(port) }
}

async function tool(name: Parameters<typeof runTool>[0], ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runTool(name, args, { timeoutMs: 60_000 })
  assert.equal(code, 0, `${name} ${args.join(' ')}: ${stdout}${stderr}`)
  return stdout
}

/** `kafka-metadata-quorum describe --replication`: role by node id, and the directory. */
async function replication(controller: string): Promise<Map<number, { role: string; directoryId: string }>> {
  const stdout = await tool('metadata-quorum', '--bootstrap-controller', controller, 'describe', '--replication')
  const lines = stdout.trim().split('\n').slice(1)
  return new Map(
    lines.map((line) => {
      const cells = line.trim().split(/\s+/)
      return [Number(cells[0]), { role: cells.at(-1) ?? '', directoryId: cells[1] ?? '' }]
    }),
  )
}

async function ours(
  context: TestContext,
  options: Partial<QuorumNodeOptions> & { nodeId: number },
): Promise<QuorumNode> {
  const folder = options.folder ?? temporaryDirectory('ours')
  const node = await QuorumNode.start(env, {
    host: '127.0.0.1',
    port: await freePort(),
    clusterId: CLUSTER,
    folder,
    ...options,
  })
  context.after(() => node.stop())
  return node
}

test('Millrace follows the metadata log of a Kafka, votes beside it, and takes over when it dies', {
  skip,
  timeout: 240_000,
}, async (context) => {
  const kafka = await KafkaNode.first(context, CLUSTER)
  const join = [addressOf(kafka)]
  const observer = await ours(context, { nodeId: 2, isController: false, join })
  await observer.quorum.caughtUp()
  await until('the Kafka broker is in our image', () => observer.quorum.image.broker(1) ?? null)
  await tool('topics', '--bootstrap-server', kafka.address, '--create', '--topic', 'orders', '--partitions', '3')
  await until('the topic is in our image', () => observer.quorum.image.topic('orders') ?? null)
  const { directoryId } = observer.logs.metaProperties
  assert.deepEqual((await replication(kafka.controllerAddress)).get(2), { role: 'Observer', directoryId })

  const three = await ours(context, { nodeId: 3, join, autoJoin: true })
  const four = await ours(context, { nodeId: 4, join, autoJoin: true })
  await until('ours vote', () => (three.quorum.facts.voters.size === 3 ? true : null))
  const roles = await replication(kafka.controllerAddress)
  assert.deepEqual(
    [1, 3, 4].map((nodeId) => roles.get(nodeId)?.role),
    ['Leader', 'Follower', 'Follower'],
  )

  await kafka.kill()
  const killedMs = performance.now()
  const leader = await until('one of ours leads', () => {
    return [three, four].find(({ quorum }) => quorum.isActive) ?? null
  })
  context.diagnostic(`taken over after ${Math.round(performance.now() - killedMs)} ms`)
  assert.equal(leader.quorum.image.topic('orders')?.partitions.length, 3)
  await leader.register(env, 77)

  kafka.launch()
  // Where the machine is slow, others may lead by then; that the Kafka leads again is as good.
  const level = await until('the Kafka is level again', () => {
    const active = [three, four].find(({ quorum }) => quorum.isActive) ?? null
    if (active === null) return three.quorum.facts.leaderId === 1 ? 'leads' : null
    const progress = active.quorum.facts.voterProgress.find(({ key }) => key.id === 1)
    return (progress?.endOffset ?? 0) > active.quorum.image.position.offset ? active : null
  })
  if (level === 'leads') return
  await level.register(env, 78)
  await until('the observer sees it', () => observer.quorum.image.broker(78) ?? null)
})

test('Millrace follows a Kafka whose voters are fixed by its configuration', {
  skip,
  timeout: 120_000,
}, async (context) => {
  const kafka = await KafkaNode.fixed(context, CLUSTER)
  const observer = await ours(context, { nodeId: 2, isController: false, join: [addressOf(kafka)] })
  await observer.quorum.caughtUp()
  await until('the Kafka broker is in our image', () => observer.quorum.image.broker(1) ?? null)
  assert.equal(observer.quorum.kraftVersion, 0)
  const roles = await replication(kafka.controllerAddress)
  assert.deepEqual(
    [1, 2].map((nodeId) => roles.get(nodeId)?.role),
    ['Leader', 'Observer'],
  )
})

test('a Kafka joins the quorum of a Millrace by itself, as voter and broker, and its tools see and change it', {
  skip,
  timeout: 240_000,
}, async (context) => {
  const millrace = await testServer(context, { kind: 'millrace' })
  const meta = readFileSync(join(millrace.dataDirectory, 'meta.properties'), 'utf8')
  const clusterId = /^cluster\.id=(.*)$/m.exec(meta)?.[1] as string
  const { controllerAddress } = millrace.place
  const hasRoles = async (...roles: string[]) => {
    const found = await replication(controllerAddress)
    return roles.every((role, index) => found.get(index + 1)?.role === role) ? found : null
  }
  await KafkaNode.voter(context, 2, clusterId, controllerAddress)
  const voters = await within('the Kafka votes', () => hasRoles('Leader', 'Follower'), { timeoutMs: 60_000 })
  const client = ['--bootstrap-server', millrace.address]
  const topic = ['--topic', 'both', '--partitions', '2', '--replication-factor', '2']
  const created = async () => {
    const { code } = await runTool('topics', [...client, '--create', ...topic], { timeoutMs: 30_000 })
    return code === 0 ? true : null
  }
  await within('the Kafka is a broker', created, { timeoutMs: 60_000 })
  const isrs = async () => {
    const described = await tool('topics', ...client, '--describe', '--topic', 'both')
    return /Leader: 1\b.*Isr: 1,2/.test(described) && /Leader: 2\b.*Isr: 2,1/.test(described) ? true : null
  }
  await within('each leads a partition and follows the other', isrs, { timeoutMs: 30_000 })

  const directory = voters.get(2)?.directoryId as string
  const former = ['--controller-id', '2', '--controller-directory-id', directory]
  await tool('metadata-quorum', '--bootstrap-controller', controllerAddress, 'remove-controller', ...former)
  // It is told to join by itself, so it is back before long.
  await within('the Kafka votes again', () => hasRoles('Leader', 'Follower'), { timeoutMs: 30_000 })
})

test('a Kafka takes a vote that we have written for its own, checksum and all', {
  skip,
  timeout: 120_000,
}, async (context) => {
  const kafka = await KafkaNode.first(context, CLUSTER)
  const file = join(kafka.dataDirectory, '__cluster_metadata-0', 'quorum-state')
  const written = await until('Kafka leads', () => {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    return /"leaderId":1/.test(text) ? parseQuorumState(text) : null
  })
  await until('its controller answers', () =>
    replication(kafka.controllerAddress).then(
      (roles) => roles.get(1) ?? null,
      () => null,
    ),
  )
  await kafka.kill()
  writeFileSync(file, printQuorumState({ ...written, leaderEpoch: written.leaderEpoch + 10 }))
  kafka.launch()
  const again = await until('Kafka leads again', () => {
    const state = parseQuorumState(readFileSync(file, 'utf8'))
    return state.leaderEpoch > written.leaderEpoch + 10 && state.leaderId === 1 ? state : null
  })
  assert.equal(again.leaderEpoch, written.leaderEpoch + 11, 'it went on where the file said')
})
