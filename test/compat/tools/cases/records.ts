import type { LineOptions, Transcript } from '../transcript.ts'

/** The tools that write, read, measure and delete records. */
export async function records(tools: Transcript): Promise<void> {
  for (const topic of ['counted', 'empty']) await tools.quietly(`topics --create --topic ${topic} --partitions 2`)
  await tools.quietly('topics --create --topic latest-of-key --partitions 1 --config cleanup.policy=compact')
  await verifiable(tools)
  await offsets(tools)
  await deletion(tools)
  await performance(tools)
}

async function verifiable(tools: Transcript): Promise<void> {
  const producer = 'verifiable-producer --topic counted --max-messages 30 --repeating-keys 5'
  await tools.run(`${producer} --throughput 1000`, figures)
  await tools.run(`${producer} --throughput 1000 --acks 1 --value-prefix 7`, figures)
  await tools.run(`${producer} --throughput 1000 --message-create-time 1000`, figures)
  const consumer = 'verifiable-consumer --topic counted --max-messages 90 --verbose'
  await tools.run(`${consumer} --group-id verifiers --reset-policy earliest`, figures)
  await tools.run(`${consumer} --group-id others --reset-policy earliest --enable-autocommit`, figures)
}

/** Times and rates, and how records were divided among answers to a fetch. */
const figures: LineOptions = {
  mask: [
    [/"(timestamp|avg_throughput|target_throughput)":[\d.]+/g, '"$1":N'],
    [/.*"name":"(records_consumed|offsets_committed)".*/, '"$1"'],
  ],
}

async function offsets(tools: Transcript): Promise<void> {
  const shell = 'get-offsets --topic counted'
  await tools.run(shell)
  const times = ['-1', '-2', '-4', '-5', '0', '500', '1000', '1001', '32000000000000']
  for (const time of [...times, 'earliest', 'latest', 'earliest-local', 'latest-tiered', 'soon']) {
    await tools.run(`${shell} --time ${time}`)
  }
  await tools.quietly(
    'console-producer --topic latest-of-key --reader-property parse.key=true --reader-property key.separator=:',
    {
      input: 'k:only\n',
    },
  )
  for (const time of ['-3', 'max-timestamp']) await tools.run(`get-offsets --topic latest-of-key --time ${time}`)
  await tools.run('get-offsets --time -1', { mask: [[/^(__consumer_offsets:\d+):.*/, '$1:N']] })
  await tools.run('get-offsets --exclude-internal-topics')
  await tools.run(`${shell} --partitions 1,5`)
  await tools.run('get-offsets --topic-partitions counted:0,empty,miss.*:2,empt.*:1-')
  await tools.run('get-offsets --topic missing')
}

async function deletion(tools: Transcript): Promise<void> {
  const attempts: Record<string, readonly (readonly [topic: string, partition: number, offset: number])[]> = {
    some: [['counted', 0, 2]],
    fewer: [['counted', 0, 1]],
    all: [['counted', 1, -1]],
    beyond: [['counted', 0, 5000]],
    several: [
      ['counted', 0, 3],
      ['empty', 0, 0],
      ['latest-of-key', 0, 0],
    ],
    unknown: [
      ['missing', 0, 1],
      ['empty', 9, 0],
    ],
    negative: [['counted', 0, -3]],
  }
  // Kafka's admin client asks for an unknown topic again until its time is over.
  const impatient = tools.file('impatient.properties', 'default.api.timeout.ms=3000\nrequest.timeout.ms=2000\n')
  for (const [name, wanted] of Object.entries(attempts)) {
    const partitions = wanted.map(([topic, partition, offset]) => ({ topic, partition, offset }))
    const file = tools.file(`${name}.json`, JSON.stringify({ partitions, version: 1 }))
    const mask = [[/(TimeoutException:).*/, '$1 …']] as const
    await tools.run(`delete-records --offset-json-file ${file} --command-config ${impatient}`, { mask })
    await tools.run('get-offsets --topic counted --time -2')
  }
  await tools.run('get-offsets --topic counted')
}

async function performance(tools: Transcript): Promise<void> {
  // Records without keys go where they like.
  await tools.quietly('topics --create --topic measured --partitions 1')
  const numbers = { mask: [[/-?\d+(\.\d+)?/g, 'N']] } as const
  await tools.run('producer-perf-test --topic measured --num-records 500 --record-size 100 --throughput -1', numbers)
  const limited = '--command-property acks=1 --command-property linger.ms=5 --command-property compression.type=lz4'
  await tools.run(
    `producer-perf-test --topic measured --num-records 100 --record-size 10 --throughput 500 ${limited}`,
    numbers,
  )
  await tools.run('consumer-perf-test --topic measured --num-records 600 --timeout 30000', numbers)
  await tools.run('get-offsets --topic measured')
  await tools.run('e2e-latency --topic measured --num-records 20 --producer-acks all --record-size 20', numbers)
}
