import type { Transcript } from '../transcript.ts'

const printed = ['timestamp', 'key', 'offset', 'partition', 'headers', 'epoch', 'delivery', 'value']
const everything = printed.map((what) => `--formatter-property print.${what}=true`).join(' ')
/** To the end, which only the clock tells. */
const fromStart = '--from-beginning --timeout-ms 4000'
/** As many as `--max-messages`: the time is only for a server that does not have them. */
const counted = '--from-beginning --timeout-ms 30000'

/** A consumer's records in their order. */
const inOrder = { ordered: true }

/** kafka-console-producer and kafka-console-consumer. */
export async function consoles(tools: Transcript): Promise<void> {
  await producing(tools)
  await reading(tools)
  await codecs(tools)
  await inGroups(tools)
}

async function producing(tools: Transcript): Promise<void> {
  await tools.quietly('topics --create --topic lines --partitions 1')
  await tools.run('console-producer --topic lines --sync', { input: 'one\ntwo\n\nvier €\n' })
  const keyed = '--reader-property parse.key=true --reader-property key.separator=:'
  await tools.run(`console-producer --topic lines --sync ${keyed}`, { input: 'k1:v1\nk2:v2\n:empty key\nk3:\n' })
  const nulls = `${keyed} --reader-property parse.headers=true --reader-property null.marker=NULL`
  await tools.run(`console-producer --topic lines --sync ${nulls}`, {
    input: 'h1:a,h2:b\tk:v\nNULL\tNULL:NULL\nh:NULL,h:again\tk:NULL\nNULL\tNULL:v\n',
  })
  await tools.run(`console-producer --topic lines --sync ${nulls}`, { input: '\tno:header\n' })
  await tools.run(`console-producer --topic lines --sync ${keyed}`, { input: 'no separator\n' })
  await tools.run('console-producer --topic missing --sync --command-property max.block.ms=1500', { input: 'x\n' })
  await tools.run('console-producer --topic lines --sync --command-property acks=0', { input: 'unacknowledged\n' })
  await tools.quietly('topics --create --topic small --config max.message.bytes=100')
  await tools.run('console-producer --topic small --sync', { input: `${'x'.repeat(200)}\nfits\n` })
}

async function reading(tools: Transcript): Promise<void> {
  await tools.run(`console-consumer --topic lines ${everything} ${counted} --max-messages 13`, inOrder)
  await tools.run(`console-consumer --topic lines ${fromStart}`, { ...inOrder, until: /unacknowledged/ })
  await tools.run('console-consumer --topic lines --partition 0 --offset 3 --max-messages 2', inOrder)
  await tools.run('console-consumer --topic lines --partition 0 --offset earliest --max-messages 1', inOrder)
  await tools.run('console-consumer --topic lines --partition 0 --offset latest --timeout-ms 1500', inOrder)
  await tools.run('console-consumer --topic lines --partition 0 --offset 500 --timeout-ms 1500', inOrder)
  await tools.run('console-consumer --topic lines --partition 3 --offset 0 --timeout-ms 1500', inOrder)
  const shapes = [
    'key.separator=|',
    'line.separator=;',
    'headers.separator=&',
    'null.literal=nothing',
    'print.key=true',
  ]
  const shaped = [...shapes, 'print.headers=true'].map((shape) => `--formatter-property ${shape}`).join(' ')
  await tools.run(`console-consumer --topic lines ${shaped} ${counted} --max-messages 13`, inOrder)
  await tools.run(`console-consumer --topic small ${fromStart}`, inOrder)
  await tools.run(`console-consumer --include 'lin.*|small' ${fromStart}`, { until: /unacknowledged/ })
  await tools.run('console-consumer --topic missing --from-beginning --timeout-ms 1500')
  await tools.run(
    `console-consumer --topic lines ${counted} --isolation-level read_committed --max-messages 3`,
    inOrder,
  )
}

/** Each codec, of a producer and of a topic that wants another one. */
async function codecs(tools: Transcript): Promise<void> {
  await tools.quietly('topics --create --topic packed --partitions 1')
  await tools.quietly('topics --create --topic repacked --partitions 1 --config compression.type=gzip')
  const input = Array.from({ length: 50 }, (_, n) => `line ${n} ${'abc'.repeat(20)}\n`).join('')
  for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd']) {
    for (const topic of ['packed', 'repacked']) {
      await tools.run(`console-producer --topic ${topic} --compression-codec ${codec}`, { input })
    }
  }
  for (const topic of ['packed', 'repacked']) {
    const offsets = '--formatter-property print.offset=true'
    await tools.run(`console-consumer --topic ${topic} --from-beginning ${offsets} --max-messages 250`, inOrder)
  }
}

async function inGroups(tools: Transcript): Promise<void> {
  const member = 'console-consumer --topic lines --group readers'
  await tools.run(`${member} --from-beginning --max-messages 4`, inOrder)
  await tools.run(`${member} --max-messages 3`, inOrder)
  await tools.run('consumer-groups --describe --group readers')
  await tools.run(`${member} --timeout-ms 4000`, { ...inOrder, until: /unacknowledged/ })
  // What a group commits, as its coordinator writes it into its own topic; how often a group that is no more was written is no matter.
  const formatter = '--formatter org.apache.kafka.tools.consumer.OffsetsMessageFormatter'
  await tools.run(`console-consumer --topic __consumer_offsets ${formatter} --from-beginning --timeout-ms 3000`, {
    mask: [
      [/"(commit|expire)Timestamp":\d+/g, '"$1Timestamp":TIME'],
      [/^(Processed a total of) \d+/, '$1 N'],
      // By the clock a member may commit once more where it stands.
      [/(\{"key".*?\}\}\})\1+/g, '$1'],
    ],
  })
}
