import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { QuorumNode, type QuorumNodeOptions } from '../../src/testing/quorum-node.ts'
import { temporaryDirectory } from '../support/files.ts'
import { kafkaLibs, kafkaProperties, kafkaTools, runTool, serverJvmFlags } from '../support/kafka-oracle.ts'
import { freePort } from '../support/ports.ts'
import { Background, runOrFail, until as within } from '../support/process.ts'
import { skipWithout } from '../support/toolchain.ts'

const env = nodeEnv({ log: { level: 'error' } })
const skip = await skipWithout('kafka')
const CLUSTER = 'bWlsbHJhY2UtdGVzdC0wMQ'

function until<T>(what: string, probe: () => T | null, timeoutMs = 60_000): Promise<T> {
  return within(what, probe, { timeoutMs, everyMs: 10 })
}

/** Features that a new Kafka has on and this version does not serve. */
const OFF = ['group.version', 'transaction.version', 'share.version', 'streams.version']

/** A Kafka that is the first voter of a quorum whose voters can change. */
class KafkaVoter {
  readonly folder: string
  readonly address: string
  readonly controller: { readonly host: string; readonly port: number }
  #process: Background | null = null

  private constructor(folder: string, port: number, controllerPort: number) {
    this.folder = folder
    this.address = `127.0.0.1:${port}`
    this.controller = { host: '127.0.0.1', port: controllerPort }
  }

  /** `fixed`: by `controller.quorum.voters`, at kraft.version 0. */
  static async start(context: TestContext, { fixed = false } = {}): Promise<KafkaVoter> {
    const voter = new KafkaVoter(temporaryDirectory('kafka'), await freePort(), await freePort())
    mkdirSync(join(voter.folder, 'data'))
    const controllerAddress = `127.0.0.1:${voter.controller.port}`
    const properties = kafkaProperties({
      dataDirectory: join(voter.folder, 'data'),
      nodeId: 1,
      zone: null,
      address: voter.address,
      controllerAddress,
      voters: [{ nodeId: 1, address: controllerAddress }],
      config: fixed ? {} : { 'controller.quorum.bootstrap.servers': controllerAddress },
    })
    writeFileSync(voter.#config, fixed ? properties : properties.replace(/^controller\.quorum\.voters=.*\n/m, ''))
    const features = OFF.flatMap((name) => ['--feature', `${name}=0`])
    const format = ['format', '-t', CLUSTER, '-c', voter.#config, ...(fixed ? [] : ['--standalone']), ...features]
    await runOrFail('java', ['-cp', `${kafkaLibs()}/*`, kafkaTools.storage, ...format])
    voter.launch()
    context.after(() => voter.kill())
    return voter
  }

  get #config(): string {
    return join(this.folder, 'server.properties')
  }

  launch(): void {
    const args = [...serverJvmFlags, '-Xmx512M', '-Xms256M', '-cp', `${kafkaLibs()}/*`, 'kafka.Kafka', this.#config]
    this.#process = new Background('kafka', 'java', args, { outputFile: join(this.folder, 'out'), append: true })
  }

  async kill(): Promise<void> {
    await this.#process?.kill()
  }

  output(): string {
    return this.#process?.output() ?? ''
  }

  async tool(name: Parameters<typeof runTool>[0], ...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runTool(name, args, { timeoutMs: 60_000 })
    assert.equal(code, 0, `${name} ${args.join(' ')}: ${stdout}${stderr}`)
    return stdout
  }

  /** `kafka-metadata-quorum describe --replication`, a line for each replica. */
  async replication(): Promise<string[][]> {
    const stdout = await this.tool(
      'metadata-quorum',
      '--bootstrap-controller',
      `127.0.0.1:${this.controller.port}`,
      'describe',
      '--replication',
    )
    return stdout
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
  }
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
  await kafka.tool('topics', '--bootstrap-server', kafka.address, '--create', '--topic', 'orders', '--partitions', '3')
  await until('the topic is in our image', () => observer.quorum.image.topic('orders') ?? null)
  const lines = await kafka.replication()
  const [, directory] = lines.find(([nodeId]) => nodeId === '2') ?? []
  assert.equal(directory, observer.logs.metaProperties.directoryId)
  assert.equal(lines.find(([nodeId]) => nodeId === '2')?.at(-1), 'Observer')

  const three = await ours(context, { nodeId: 3, join, autoJoin: true })
  const four = await ours(context, { nodeId: 4, join, autoJoin: true })
  await until('ours vote', () => (three.quorum.facts.voters.size === 3 ? true : null))
  const roles = new Map((await kafka.replication()).map((line) => [line[0], line.at(-1)]))
  assert.deepEqual([roles.get('1'), roles.get('3'), roles.get('4')], ['Leader', 'Follower', 'Follower'])

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
  const roles = new Map((await kafka.replication()).map((line) => [line[0], line.at(-1)]))
  assert.deepEqual([roles.get('1'), roles.get('2')], ['Leader', 'Observer'])
})
