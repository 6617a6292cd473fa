/**
 * A real Apache Kafka at hand:
 *   node scripts/kafka-oracle.ts fetch              the jars, by Maven, into .cache
 *   node scripts/kafka-oracle.ts run [key=value…]   one node on free loopback ports until Ctrl-C
 *   node scripts/kafka-oracle.ts topics --list …    any of Kafka's tools, by its script's name
 */
import { temporaryDirectory } from '../test/support/files.ts'
import { fetchKafka, kafkaTools, runTool } from '../test/support/kafka-oracle.ts'
import { Server } from '../test/support/server.ts'

const [verb = '', ...args] = process.argv.slice(2)
const libs = await fetchKafka()
if (verb === 'fetch') {
  console.log(libs)
} else if (verb === 'run') {
  const config = Object.fromEntries(args.map((arg) => arg.split('=', 2) as [string, string]))
  const server = await Server.start({ kind: 'kafka', directory: temporaryDirectory('kafka'), config })
  console.log(`Apache Kafka listens on ${server.address} (pid ${server.process.pid}, data ${server.dataDirectory})`)
  process.exitCode = await server.process.ended
} else if (verb in kafkaTools || verb.includes('.')) {
  const { code, stdout, stderr } = await runTool(verb, args)
  process.stdout.write(stdout)
  process.stderr.write(stderr)
  process.exitCode = code
} else {
  console.error(`fetch, run or one of: ${Object.keys(kafkaTools).join(', ')}`)
  process.exitCode = 2
}
