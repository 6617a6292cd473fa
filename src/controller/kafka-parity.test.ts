import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { AnyApi, RequestOf, ResponseOf } from '../protocol/schema.ts'
import { type ControllerPort, ControllerScenario, SCENARIO_SESSION_MS } from '../testing/controller-scenario.ts'
import { answerLater, Command } from '../testing/datadriven.ts'
import { ShardCluster, TEST_CLUSTER_ID } from '../testing/shard-cluster.ts'
import type { ControllerApi } from './shard.ts'

const folder = new URL('testdata/parity/', import.meta.url)

interface Difference {
  /** Whole lines, after the command that they answer. */
  readonly after: string
  readonly kafka: string
  readonly ours: string
  readonly why: string
}

/** The answers in the files are an Apache Kafka controller's (test/oracle/controller-parity.test.ts). Where ours differ: */
const differences: Readonly<Record<string, readonly Difference[]>> = {
  'brokers.txt': [
    {
      after: 'register 1 clean',
      kafka: 'DUPLICATE_BROKER_REGISTRATION\n',
      ours: 'NONE\n',
      why: 'the same folders behind the same address: the process before is dead',
    },
    {
      after: 'assign 4 kept-0 dir=lost',
      kafka: 'NONE\nkept-0: replicas=4,2 leader=2 isr=2 epoch=1/3 dirs=lost,2\n',
      ours: 'NONE\nkept-0: replicas=4,2 leader=2 isr=2 epoch=1/2 dirs=lost,2\n',
      why: 'one record for the place and the ISR',
    },
  ],
  'eligible.txt': [
    {
      after: 'beat 2',
      kafka:
        'caughtUp=true fenced=false stop=false\norders-0: replicas=1,2,3 leader=2 isr=2 recovering epoch=4/12 dirs=1,2,3\n',
      ours: 'caughtUp=true fenced=false stop=false\n',
      why: 'an fsync topic is not led by its last leader without being told to: that may lose what it acknowledged',
    },
  ],
  'reassign.txt': [
    {
      after: 'reassign orders-1 cancel',
      kafka: 'NO_REASSIGNMENT_IN_PROGRESS: \n',
      ours: 'NO_REASSIGNMENT_IN_PROGRESS: No partition reassignment is in progress.\n',
      why: 'we say it in words',
    },
  ],
}

function shard(): ControllerPort {
  const cluster = new ShardCluster(new Map([['broker.session.timeout.ms', String(SCENARIO_SESSION_MS)]]))
  return {
    clusterId: TEST_CLUSTER_ID,
    ask: <A extends AnyApi>(api: A, request: RequestOf<A>, version?: number) =>
      Promise.resolve(cluster.ask(api as unknown as ControllerApi, request as never, version) as ResponseOf<A>),
    image: () => Promise.resolve(cluster.image),
    pass: (ms: number) => Promise.resolve(cluster.pass(ms)),
  }
}

for (const name of readdirSync(folder)) {
  test(`as a Kafka controller answers and decides: ${name}`, async () => {
    const port = shard()
    // Kafka has written this when a new cluster begins.
    await new ControllerScenario(port, 0).run(new Command('config min.insync.replicas:1'))
    const kafka = readFileSync(new URL(name, folder), 'utf8')
    const scenario = new ControllerScenario(port, 100)
    const ours = await answerLater(kafka, (command) => scenario.run(command))
    assert.equal(ours, expected(kafka, name))
  })
}

/** What Kafka answered, but for the known differences. */
function expected(recorded: string, name: string): string {
  let text = `${recorded}\n`
  for (const { after, kafka, ours } of differences[name] ?? []) {
    const line = `${after}\n----\n${kafka}\n`
    assert.ok(text.includes(line), `Kafka does not answer so (any more): ${line}`)
    text = text.replace(line, `${after}\n----\n${ours}\n`)
  }
  return text.slice(0, -1)
}
