/** The adapter of kcat, which is run once for each command, and as long as it is a member of a group. */
import { execFileSync } from 'node:child_process'
import type { Failure } from '../../protocol.ts'
import { type Handlers, serve } from '../node/serve.ts'
import { Member } from './member.ts'
import { KcatFailure, kcat } from './process.ts'
import { produceGroups } from './producing.ts'
import { readByLength, readJson } from './reading.ts'

const [bootstrap = ''] = process.argv.slice(2)

function version(): string {
  const text = execFileSync('kcat', ['-V'], { encoding: 'utf8' })
  return /Version (\S+) .*(librdkafka \S+)/.exec(text)?.slice(1, 3).join(', ') ?? text
}

function failureOf(error: unknown): Failure | null {
  return error instanceof KcatFailure ? { name: error.message, code: null, message: error.output } : null
}

let member: Member | null = null
function mine(): Member {
  if (member === null) throw new Error('no subscribe before')
  return member
}

async function offsetOf(topic: string, partition: number, timestamp: number): Promise<number> {
  const answer = (await kcat(bootstrap, ['-Q', '-t', `${topic}:${partition}:${timestamp}`])).toString()
  const offset = /offset (-?\d+)/.exec(answer)?.[1]
  if (offset === undefined) throw new KcatFailure('no offset', answer)
  return Number(offset)
}

const handlers: Handlers = {
  async produce(command) {
    const answers = command.records.map(() => ({ partition: -1, offset: -1, error: null as Failure | null }))
    for (const { first, count, args, input } of produceGroups(command)) {
      try {
        await kcat(bootstrap, args, input)
      } catch (error) {
        const failure = failureOf(error)
        if (failure === null) throw error
        for (let i = first; i < first + count; i++) answers[i] = { partition: -1, offset: -1, error: failure }
      }
    }
    return { records: answers }
  },

  /** Once for the bytes and once for what it tells in JSON only. */
  async consume({ topic, partition, offset, count, timeoutMs }) {
    const from = { earliest: 'beginning', latest: 'end' }[offset as 'earliest'] ?? String(offset)
    const args = ['-C', '-q', '-t', topic, '-p', String(partition), '-o', from, '-c', String(count), '-e']
    const bytes = await kcat(bootstrap, [...args, '-f', readByLength.format], null, timeoutMs)
    const facts = await kcat(bootstrap, [...args, '-J'], null, timeoutMs)
    const found = readByLength.all(bytes)
    return {
      records: readJson(facts).map((fact, i) => ({
        ...fact,
        key: found[i]?.key ?? null,
        value: found[i]?.value ?? null,
      })),
    }
  },

  async subscribe(subscription) {
    member = new Member(bootstrap, subscription)
    return {}
  },

  poll: ({ forMs, max }) => mine().poll(forMs, max),

  async close() {
    await mine().close()
    return {}
  },

  async listOffsets({ topic, partitions, at }) {
    const offsets: { partition: number; offset: number }[] = []
    for (const partition of partitions) {
      offsets.push({ partition, offset: await offsetOf(topic, partition, at === 'earliest' ? -2 : -1) })
    }
    return { offsets }
  },

  async offsetsForTimes({ topic, partition, timestamps }) {
    const offsets: { timestamp: number; offset: number | 'end' }[] = []
    for (const timestamp of timestamps) {
      const offset = await offsetOf(topic, partition, timestamp)
      offsets.push({ timestamp, offset: offset === -1 ? 'end' : offset })
    }
    return { offsets }
  },

  async describeTopic({ topic }) {
    const { topics } = JSON.parse((await kcat(bootstrap, ['-L', '-J', '-t', topic])).toString()) as Listing
    const [found] = topics
    if (found?.error !== undefined) throw new KcatFailure(found.error, found.error)
    const ids = (nodes: readonly { id: number }[]) => nodes.map(({ id }) => id)
    const partitions = (found?.partitions ?? []).map(({ partition, leader, replicas, isrs }) => {
      return { partition, leader, replicas: ids(replicas), isr: ids(isrs) }
    })
    return { partitions }
  },
}

interface Listing {
  readonly topics: readonly {
    readonly error?: string
    readonly partitions: readonly {
      readonly partition: number
      readonly leader: number
      readonly replicas: readonly { readonly id: number }[]
      readonly isrs: readonly { readonly id: number }[]
    }[]
  }[]
}

const noAdmin = 'it looks after nothing'
await serve(
  {
    client: 'kcat',
    version: version(),
    unsupported: {
      'binary-headers': 'headers are arguments of its command line',
      timestamps: 'it cannot set them',
      commit: 'it commits of its own accord',
      'consumer-protocol': 'its librdkafka is too old',
      createTopics: noAdmin,
      validateOnly: noAdmin,
      deleteTopics: noAdmin,
      createPartitions: noAdmin,
      describeConfigs: noAdmin,
      alterConfigs: noAdmin,
      deleteRecords: noAdmin,
      listGroups: noAdmin,
      describeGroup: noAdmin,
      deleteGroups: noAdmin,
      committed: noAdmin,
      alterOffsets: noAdmin,
      deleteOffsets: noAdmin,
    },
  },
  handlers,
  failureOf,
)
