import type { Transcript } from '../transcript.ts'

const topic = 'configs --entity-type topics --entity-name settings'
const broker = 'configs --entity-type brokers --entity-name 1'

/** kafka-configs. */
export async function configs(tools: Transcript): Promise<void> {
  await tools.quietly('topics --create --topic settings')
  await ofTopics(tools)
  await ofBrokers(tools)
  await ofOthers(tools)
}

async function ofTopics(tools: Transcript): Promise<void> {
  await tools.run(`${topic} --describe`)
  await tools.run(`${topic} --alter --add-config retention.ms=1000,cleanup.policy=[compact,delete]`)
  await tools.run(`${topic} --describe`)
  await tools.run(`${topic} --describe --all`)
  await tools.run('configs --entity-type topics --describe')
  await tools.run(`${topic} --alter --delete-config retention.ms,segment.bytes`)
  await tools.run(`${topic} --alter --add-config segment.bytes=1048576 --delete-config cleanup.policy`)
  const file = tools.file('settings.properties', 'max.message.bytes=5000\nflush.messages=7\n')
  await tools.run(`${topic} --alter --add-config-file ${file}`)
  await tools.run(`${topic} --describe`)
  for (const change of ['retention.ms=never', 'compression.type=rar', 'no.such.key=1', 'segment.bytes=1']) {
    await tools.run(`${topic} --alter --add-config ${change}`)
  }
  await tools.run(`${topic} --alter --delete-config no.such.key`)
  await tools.run('configs --entity-type topics --entity-name missing --describe')
  await tools.run('configs --entity-type topics --entity-name missing --alter --add-config retention.ms=1')
  await tools.run(`${topic} --describe`)
}

async function ofBrokers(tools: Transcript): Promise<void> {
  await tools.run(`${broker} --describe`)
  await tools.run(`${broker} --alter --add-config log.retention.ms=7200000`)
  await tools.run(`${broker} --describe`)
  await tools.run('configs --entity-type brokers --entity-default --describe')
  await tools.run('configs --entity-type brokers --entity-default --alter --add-config message.max.bytes=2000000')
  await tools.run('configs --entity-type brokers --entity-default --describe')
  await tools.run('configs --entity-type brokers --describe')
  // What a topic without settings of its own makes of them.
  await tools.run(`${topic} --describe --all`)
  await tools.run(`${broker} --alter --add-config node.id=5`)
  await tools.run(`${broker} --alter --add-config log.retention.ms=soon`)
  await tools.run(`${broker} --alter --delete-config log.retention.ms`)
  await tools.run('configs --entity-type brokers --entity-default --alter --delete-config message.max.bytes')
  await tools.run(`${broker} --describe`)
  await tools.run('configs --entity-type brokers --entity-name 9 --describe')
  await tools.run('configs --entity-type brokers --entity-name nine --describe')
}

async function ofOthers(tools: Transcript): Promise<void> {
  await tools.run('configs --entity-type broker-loggers --entity-name 1 --describe', {
    mask: [[/^\s*\S+=(DEBUG|INFO|WARN|ERROR).*/, 'LOGGER']],
  })
  await tools.run('configs --entity-type users --describe')
  await tools.run('configs --entity-type clients --entity-default --alter --add-config producer_byte_rate=1000000')
  await tools.run('configs --entity-type clients --describe')
  await tools.run('configs --entity-type clients --entity-default --alter --delete-config producer_byte_rate')
  await tools.run('configs --entity-type groups --entity-name some --describe')
  await tools.run(
    'configs --entity-type groups --entity-name some --alter --add-config consumer.session.timeout.ms=50000',
  )
  await tools.run('configs --entity-type client-metrics --entity-name some --describe')
}
