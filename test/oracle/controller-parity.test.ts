import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Address } from '../../src/env/net.ts'
import { nodeEnv } from '../../src/env-node/node-env.ts'
import { MetadataDelta } from '../../src/metadata/delta.ts'
import { MetadataImage } from '../../src/metadata/image.ts'
import type { AnyApi, RequestOf, ResponseOf } from '../../src/protocol/schema.ts'
import { decodeBatches } from '../../src/quorum/metadata-batch.ts'
import { Peers } from '../../src/rpc/peers.ts'
import { type ControllerPort, ControllerScenario, SCENARIO_SESSION_MS } from '../../src/testing/controller-scenario.ts'
import { answerLater, Command } from '../../src/testing/datadriven.ts'
import { temporaryDirectory } from '../support/files.ts'
import { kafkaLibs, kafkaTools, serverJvmFlags } from '../support/kafka-oracle.ts'
import { freePort } from '../support/ports.ts'
import { Background, runOrFail, until } from '../support/process.ts'
import { skipWithout } from '../support/toolchain.ts'

const skip = await skipWithout('kafka')
const CLUSTER = 'bWlsbHJhY2UtdGVzdC0wMQ'
const folder = join(import.meta.dirname, '../../src/controller/testdata/parity')

/** A Kafka that is nothing but a controller. What it decides is read from its metadata log on disk. */
class KafkaController implements ControllerPort {
  readonly clusterId = CLUSTER
  readonly #data: string
  readonly #address: Address
  readonly #peers: Peers

  private constructor(data: string, address: Address, peers: Peers) {
    this.#data = data
    this.#address = address
    this.#peers = peers
  }

  static async start(context: TestContext): Promise<KafkaController> {
    const directory = temporaryDirectory('kafka')
    const data = join(directory, 'data')
    mkdirSync(data)
    const address = { host: '127.0.0.1', port: await freePort() }
    const endpoint = `${address.host}:${address.port}`
    const properties = {
      'process.roles': 'controller',
      'node.id': '1000',
      listeners: `CONTROLLER://${endpoint}`,
      'controller.listener.names': 'CONTROLLER',
      'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT',
      'controller.quorum.bootstrap.servers': endpoint,
      'log.dirs': data,
      // Nothing happens but what a scenario asks for.
      'broker.session.timeout.ms': String(SCENARIO_SESSION_MS),
      'auto.leader.rebalance.enable': 'false',
      'unclean.leader.election.interval.ms': '3600000',
    }
    const file = join(directory, 'server.properties')
    const text = Object.entries(properties).map(([key, value]) => `${key}=${value}`)
    writeFileSync(file, `${text.join('\n')}\n`)
    const off = ['group', 'transaction', 'share', 'streams'].flatMap((name) => ['--feature', `${name}.version=0`])
    const format = [kafkaTools.storage, 'format', '-t', CLUSTER, '-c', file, '--standalone', ...off]
    await runOrFail('java', ['-cp', `${kafkaLibs()}/*`, ...format])
    const args = [...serverJvmFlags, '-Xmx512M', '-Xms256M', '-cp', `${kafkaLibs()}/*`, 'kafka.Kafka', file]
    const kafka = new Background('kafka', 'java', args, { outputFile: join(directory, 'out') })
    context.after(() => kafka.kill())
    const env = nodeEnv({ log: { level: 'error' } })
    const options = { clientId: 'scenario', connectTimeoutMs: 1000, requestTimeoutMs: 10_000 }
    const peers = new Peers(env.net, env.timers, options)
    context.after(() => peers.close())
    const controller = new KafkaController(data, address, peers)
    await until('a leader', () => (controller.#read().features.has('metadata.version') ? true : null), {
      timeoutMs: 60_000,
    })
    await until('an open port', () => peers.connection(address, 'control').catch(() => null), { timeoutMs: 60_000 })
    return controller
  }

  ask<A extends AnyApi>(api: A, request: RequestOf<A>, version = api.versions[1]): Promise<ResponseOf<A>> {
    return this.#peers.request(this.#address, 'control', api, request, { versions: [version, version] })
  }

  image(): Promise<MetadataImage> {
    return Promise.resolve(this.#read())
  }

  pass(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms))
  }

  #read(): MetadataImage {
    const log = join(this.#data, '__cluster_metadata-0')
    const segments = readdirSync(log).filter((name) => name.endsWith('.log'))
    const delta = new MetadataDelta(MetadataImage.empty)
    let position = { offset: -1, epoch: -1, timestampMs: -1 }
    for (const name of segments) {
      const bytes = readFileSync(join(log, name))
      // Kafka reserves space in front of what is written.
      for (const { records, lastOffset, leaderEpoch, timestampMs } of decodeBatches(written(bytes))) {
        for (const record of records) delta.replay(record)
        position = { offset: lastOffset, epoch: leaderEpoch, timestampMs }
      }
    }
    return delta.apply(position)
  }
}

/** The whole batches at the beginning; behind them may be zeros. */
function written(bytes: Buffer): Buffer {
  let end = 0
  while (end + 12 <= bytes.length) {
    const size = bytes.readInt32BE(end + 8)
    if (size <= 0 || end + 12 + size > bytes.length) break
    end += 12 + size
  }
  return bytes.subarray(0, end)
}

test('the recorded answers and decisions are those of a Kafka controller', {
  skip,
  timeout: 240_000,
}, async (context) => {
  const kafka = await KafkaController.start(context)
  const shared = new ControllerScenario(kafka, 0)
  await shared.run(new Command('config min.insync.replicas:1'))
  for (const [index, name] of readdirSync(folder).entries()) {
    const path = join(folder, name)
    const before = readFileSync(path, 'utf8')
    const scenario = new ControllerScenario(kafka, (index + 1) * 100)
    const after = await answerLater(before, (command) => scenario.run(command))
    if (process.env.MILLRACE_UPDATE === '1') writeFileSync(path, after)
    else assert.equal(after, before, name)
    // Else a stop in the next scenario would wait for them.
    for (let n = 1; n < 10; n++) await scenario.run(new Command(`beat ${n} fence`))
  }
})
