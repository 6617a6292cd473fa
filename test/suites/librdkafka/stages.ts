import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Cluster } from '../../cluster/cluster.ts'
import { temporaryDirectory } from '../../support/files.ts'
import { haveKafka, kafkaLibs, kafkaTools } from '../../support/kafka-oracle.ts'
import type { ServerKind } from '../../support/server.ts'
import type { Stage } from './tests.ts'

/** A cluster for some of the tests, and what they must know of it. */
export interface Running {
  readonly addresses: string
  readonly scenario: string
  stop(): Promise<void>
}

const configs: Readonly<Record<Stage, Readonly<Record<string, string>>>> = {
  one: { 'auto.create.topics.enable': 'true', 'num.partitions': '4' },
  strict: { 'auto.create.topics.enable': 'false', 'num.partitions': '4' },
  three: {
    'auto.create.topics.enable': 'true',
    'num.partitions': '4',
    'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector',
  },
}

/** What the one node of Kafka has beyond it, so that tests of ACLs find what they ask for. */
const authorizer: Readonly<Record<string, string>> = {
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'allow.everyone.if.no.acl.found': 'true',
}

/** Starts what `stage` wants, of Millrace or of Kafka. */
export async function start(kind: ServerKind, stage: Stage): Promise<Running> {
  const cluster = await Cluster.prepare({
    kind,
    directory: temporaryDirectory(`librdkafka-${stage}`),
    nodes: stage === 'one' ? 1 : 3,
    zoneName: (nodeId) => `RACK${nodeId}`,
    config: { ...configs[stage], ...(kind === 'kafka' && stage === 'one' ? authorizer : {}) },
  })
  await cluster.start()
  return {
    addresses: cluster.addresses,
    scenario: stage === 'strict' ? 'noautocreate' : 'default',
    stop: () => cluster.kill(),
  }
}

/** A folder that looks to the tests like Kafka's distribution, as far as they call its scripts; null without its jars. */
export function kafkaHome(): string | null {
  if (!haveKafka()) return null
  const home = temporaryDirectory('kafka-home')
  mkdirSync(join(home, 'bin'))
  for (const [name, className] of [
    ['kafka-topics.sh', kafkaTools.topics],
    ['kafka-acls.sh', 'org.apache.kafka.tools.AclCommand'],
  ] as const) {
    const file = join(home, 'bin', name)
    writeFileSync(
      file,
      `#!/bin/sh\nexec java -Xmx256M -XX:TieredStopAtLevel=1 -cp '${kafkaLibs()}/*' ${className} "$@"\n`,
    )
    chmodSync(file, 0o755)
  }
  return home
}
