import { join } from 'node:path'
import { root } from '../support/files.ts'
import { toolArguments } from '../support/kafka-oracle.ts'
import { Background } from '../support/process.ts'
import { pythonPath } from '../support/toolchain.ts'

export type ClientName = 'confluent-kafka' | 'kafkajs' | 'java'
export const clientNames: readonly ClientName[] = ['confluent-kafka', 'kafkajs', 'java']

/**
 * Starts one member of a group in a process of its own. It writes a line for every record it gets:
 * `Partition:P<tab>Offset:O<tab>key<tab>value`, and commits on its own, also when it is ended by SIGTERM.
 */
export function startMember(options: {
  client: ClientName
  address: string
  group: string
  topic: string
  outputFile: string
  errorFile: string
}): Background {
  const { client, address, group, topic, outputFile } = options
  const [command, args] = commandOf(client, address, group, topic)
  return new Background(`${client} member`, command, args, { outputFile, errorFile: options.errorFile })
}

function commandOf(client: ClientName, address: string, group: string, topic: string): [string, string[]] {
  const here = join(root, 'test', 'real-data')
  switch (client) {
    case 'confluent-kafka':
      return [pythonPath(), [join(here, 'python-member.py'), address, group, topic]]
    case 'kafkajs':
      return [process.execPath, [join(here, 'kafkajs-member.ts'), address, group, topic]]
    case 'java': {
      const args = ['--bootstrap-server', address, '--group', group, '--topic', topic, '--from-beginning']
      // Small fetches and short sessions, so that a killed member leaves work behind and is missed soon.
      const properties = ['session.timeout.ms=6000', 'auto.commit.interval.ms=500', 'max.poll.records=200']
      properties.push('max.partition.fetch.bytes=8192', 'heartbeat.interval.ms=1000')
      for (const property of properties) args.push('--command-property', property)
      for (const what of ['key', 'offset', 'partition']) args.push('--formatter-property', `print.${what}=true`)
      return ['java', toolArguments('console-consumer', args, '128M')]
    }
  }
}
