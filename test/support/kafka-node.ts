import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryDirectory } from './files.ts'
import { kafkaLibs, kafkaProperties, kafkaTools, serverJvmFlags } from './kafka-oracle.ts'
import { freePort } from './ports.ts'
import { Background, runOrFail } from './process.ts'

/** Features that a new Kafka has on and Millrace does not serve: a cluster that both are to be in has them off. */
const OFF = ['group.version', 'transaction.version', 'share.version', 'streams.version']

interface Beginning {
  readonly clusterId: string
  /** Arguments of `format` beyond the features. */
  readonly format: readonly string[]
  readonly config: Readonly<Record<string, string>>
}

/** One Kafka among other nodes: it begins a cluster, or joins one of any make. Killed at the end of its test. */
export class KafkaNode {
  readonly nodeId: number
  readonly address: string
  readonly controllerAddress: string
  readonly #folder: string
  #process: Background | null = null

  private constructor(nodeId: number, address: string, controllerAddress: string) {
    this.nodeId = nodeId
    this.address = address
    this.controllerAddress = controllerAddress
    this.#folder = temporaryDirectory('kafka')
  }

  static async #begin(context: TestContext, nodeId: number, how: (node: KafkaNode) => Beginning): Promise<KafkaNode> {
    const [port, controllerPort] = [await freePort(), await freePort()]
    const node = new KafkaNode(nodeId, `127.0.0.1:${port}`, `127.0.0.1:${controllerPort}`)
    mkdirSync(node.dataDirectory)
    context.after(() => node.kill())
    const { clusterId, format, config } = how(node)
    node.#configure(config)
    const features = format.length === 0 ? [] : OFF.flatMap((name) => ['--feature', `${name}=0`])
    const args = ['format', '-t', clusterId, '-c', node.#config, ...format, ...features]
    await runOrFail('java', ['-cp', `${kafkaLibs()}/*`, kafkaTools.storage, ...args])
    node.launch()
    return node
  }

  /** Node 1, the first voter of a new quorum whose voters can change. */
  static first(context: TestContext, clusterId: string): Promise<KafkaNode> {
    return KafkaNode.#begin(context, 1, ({ controllerAddress }) => ({
      clusterId,
      format: ['--standalone'],
      config: { 'controller.quorum.bootstrap.servers': controllerAddress },
    }))
  }

  /** Node 1, the only voter of a quorum that `controller.quorum.voters` fixes, at kraft.version 0. */
  static fixed(context: TestContext, clusterId: string): Promise<KafkaNode> {
    return KafkaNode.#begin(context, 1, ({ controllerAddress }) => ({
      clusterId,
      format: ['--ignore-formatted'],
      config: { 'controller.quorum.voters': `1@${controllerAddress}` },
    }))
  }

  /** A broker and controller that makes itself a voter of the quorum at `bootstrap`. */
  static voter(context: TestContext, nodeId: number, clusterId: string, bootstrap: string): Promise<KafkaNode> {
    return KafkaNode.#begin(context, nodeId, () => ({
      clusterId,
      format: ['--no-initial-controllers'],
      config: { 'controller.quorum.bootstrap.servers': bootstrap, 'controller.quorum.auto.join.enable': 'true' },
    }))
  }

  /** A broker of the cluster whose controllers are at `bootstrap`. */
  static broker(context: TestContext, nodeId: number, clusterId: string, bootstrap: string): Promise<KafkaNode> {
    return KafkaNode.#begin(context, nodeId, ({ address }) => ({
      clusterId,
      format: [],
      config: {
        'process.roles': 'broker',
        listeners: `PLAINTEXT://${address}`,
        'controller.quorum.bootstrap.servers': bootstrap,
      },
    }))
  }

  get dataDirectory(): string {
    return join(this.#folder, 'data')
  }

  get #config(): string {
    return join(this.#folder, 'server.properties')
  }

  #configure(config: Readonly<Record<string, string>>): void {
    const { nodeId, address, controllerAddress, dataDirectory } = this
    const voters = [{ nodeId, address: controllerAddress }]
    const properties = kafkaProperties({
      dataDirectory,
      nodeId,
      zone: null,
      address,
      controllerAddress,
      voters,
      config: { 'offsets.topic.num.partitions': '2', ...config },
    })
    const isFixed = config['controller.quorum.voters'] !== undefined
    writeFileSync(this.#config, isFixed ? properties : properties.replace(/^controller\.quorum\.voters=.*\n/m, ''))
  }

  launch(): void {
    const args = [...serverJvmFlags, '-Xmx512M', '-Xms256M', '-cp', `${kafkaLibs()}/*`, 'kafka.Kafka', this.#config]
    this.#process = new Background('kafka', 'java', args, { outputFile: join(this.#folder, 'out'), append: true })
  }

  async kill(): Promise<void> {
    await this.#process?.kill()
  }
}
