import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { QuorumNode, type QuorumNodeOptions } from '../../src/testing/quorum-node.ts'
import { temporaryDirectory } from '../support/files.ts'
import { kafkaLibs, kafkaProperties, kafkaTools, runTool, serverJvmFlags } from '../support/kafka-oracle.ts'
import { freePort } from '../support/ports.ts'
import { Background, runOrFail, until as within } from '../support/process.ts'
import { testServer } from '../support/test-server.ts'
import { skipWithout } from '../support/toolchain.ts'

const env = nodeEnv({ log: { level: 'error' } })
const skip = await skipWithout('kafka')
const CLUSTER = 'bWlsbHJhY2UtdGVzdC0wMQ'

function until<T>(what: string, probe: () => T | null, timeoutMs = 60_000): Promise<T> {
  return within(what, probe, { timeoutMs, everyMs: 10 })
}

/** Features that a new Kafka has on and this version does not serve. */
const OFF = ['group.version', 'transaction.version', 'share.version', 'streams.version']

/** A Kafka, broker and controller in one, that begins a quorum or joins one. */
class KafkaVoter {
  readonly folder: string
  readonly nodeId: number
  readonly address: string
  readonly controller: { readonly host: string; readonly port: number }
  #process: Background | null = null

  private constructor(nodeId: number, port: number, controllerPort: number) {
    this.folder = temporaryDirectory('kafka')
    this.nodeId = nodeId
    this.address = `127.0.0.1:${port}`
    this.controller = { host: '127.0.0.1', port: controllerPort }
  }

  static async #prepared(context: TestContext, nodeId: number): Promise<KafkaVoter> {
    const voter = new KafkaVoter(nodeId, await freePort(), await freePort())
    mkdirSync(join(voter.folder, 'data'))
    context.after(() => voter.kill())
    return voter
  }

  /** The first voter of a quorum. `fixed`: by `controller.quorum.voters`, at kraft.version 0. */
  static async start(context: TestContext, { fixed = false } = {}): Promise<KafkaVoter> {
    const voter = await KafkaVoter.#prepared(context, 1)
    voter.#configure(fixed ? {} : { 'controller.quorum.bootstrap.servers': voter.#controllerAddress }, fixed)
    await voter.#format(CLUSTER, fixed ? [] : ['--standalone'])
    voter.launch()
    return voter
  }

  /** One that makes itself a voter of the quorum at `bootstrap`. */
  static async join(context: TestContext, clusterId: string, bootstrap: string): Promise<KafkaVoter> {
    const voter = await KafkaVoter.#prepared(context, 2)
    const config = {
      'controller.quorum.bootstrap.servers': bootstrap,
      'controller.quorum.auto.join.enable': 'true',
    }
    voter.#configure(config, false)
    await voter.#format(clusterId, ['--no-initial-controllers'])
    voter.launch()
    return voter
  }

  get #controllerAddress(): string {
    return `127.0.0.1:${this.controller.port}`
  }

  get #config(): string {
    return join(this.folder, 'server.properties')
  }

  #configure(config: Readonly<Record<string, string>>, fixed: boolean): void {
    const { nodeId, address } = this
    const controllerAddress = this.#controllerAddress
    const properties = kafkaProperties({
      dataDirectory: join(this.folder, 'data'),
      nodeId,
      zone: null,
      address,
      controllerAddress,
      voters: [{ nodeId, address: controllerAddress }],
      config,
    })
    writeFileSync(this.#config, fixed ? properties : properties.replace(/^controller\.quorum\.voters=.*\n/m, ''))
  }

  async #format(clusterId: string, how: readonly string[]): Promise<void> {
    const features = OFF.flatMap((name) => ['--feature', `${name}=0`])
    const args = ['format', '-t', clusterId, '-c', this.#config, ...how, ...features]
    await runOrFail('java', ['-cp', `${kafkaLibs()}/*`, kafkaTools.storage, ...args])
  }

  launch(): void {
    const args = [...serverJvmFlags, '-Xmx512M', '-Xms256M', '-cp', `${kafkaLibs()}/*`, 'kafka.Kafka', this.#config]
    this.#process = new Background('kafka', 'java', args, { outputFile: join(this.folder, 'out'), append: true })
  }

  async kill(): Promise<void> {
    await this.#process?.kill()
  }
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
  const kafka = await KafkaVoter.start(context)
  const join = [kafka.controller]
  const observer = await ours(context, { nodeId: 2, isController: false, join })
  await observer.quorum.caughtUp()
  await until('the Kafka broker is in our image', () => observer.quorum.image.broker(1) ?? null)
  await tool('topics', '--bootstrap-server', kafka.address, '--create', '--topic', 'orders', '--partitions', '3')
  await until('the topic is in our image', () => observer.quorum.image.topic('orders') ?? null)
  const controller = `127.0.0.1:${kafka.controller.port}`
  const { directoryId } = observer.logs.metaProperties
  assert.deepEqual((await replication(controller)).get(2), { role: 'Observer', directoryId })

  const three = await ours(context, { nodeId: 3, join, autoJoin: true })
  const four = await ours(context, { nodeId: 4, join, autoJoin: true })
  await until('ours vote', () => (three.quorum.facts.voters.size === 3 ? true : null))
  const roles = await replication(controller)
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
  const kafka = await KafkaVoter.start(context, { fixed: true })
  const observer = await ours(context, { nodeId: 2, isController: false, join: [kafka.controller] })
  await observer.quorum.caughtUp()
  await until('the Kafka broker is in our image', () => observer.quorum.image.broker(1) ?? null)
  assert.equal(observer.quorum.kraftVersion, 0)
  const roles = await replication(`127.0.0.1:${kafka.controller.port}`)
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
  await KafkaVoter.join(context, clusterId, controllerAddress)
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
