import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory, root } from '../../support/files.ts'
import { fetchKafka, kafkaLibs, kafkaVersion } from '../../support/kafka-oracle.ts'
import { runOrFail } from '../../support/process.ts'
import type { ClientDefinition } from '../client.ts'

const classes = join(cacheDirectory, `compat-java-${kafkaVersion}`)
const source = join(root, 'test', 'compat', 'adapters', 'java', 'CompatAdapter.java')

/** The Java client, which comes with Kafka's jars. */
export const javaClient: ClientDefinition = {
  name: 'java',
  async install() {
    await fetchKafka()
    mkdirSync(classes, { recursive: true })
    await runOrFail('javac', ['-proc:none', '-nowarn', '-d', classes, '-cp', `${kafkaLibs()}/*`, source])
  },
  command: () => [
    'java',
    ...['-Xmx256M', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', `${classes}:${kafkaLibs()}/*`],
    'CompatAdapter',
  ],
}
