import { Consumer } from '../../client/consumer.ts'
import type { ConsumerRecord } from '../../client/fetched-records.ts'
import type { Session } from '../connect.ts'
import { write } from '../output.ts'
import { giveBack, stopSignal } from '../reading.ts'
import { type ConsoleOptions, consoleOptions, CONSUMER_KINDS } from './console-consumer-options.ts'
import { err, out, type Tool, ToolExit, withServers } from './tool.ts'

/** A wait for records is looked up from so often. */
const POLL_MS = 200
/** Topics that are matched by a pattern are looked for again so often. */
const TOPICS_MS = 5000

/** kafka-console-consumer. */
export const consoleConsumerTool: Tool = {
  kinds: CONSUMER_KINDS,
  async run(flags) {
    const options = await consoleOptions(flags)
    return withServers(options.bootstrap, { clientId: options.clientId, createTopics: false }, (session) =>
      read(session, options),
    )
  },
}

async function read(session: Session, options: ConsoleOptions): Promise<number> {
  const { consumer, look } = await open(session, options)
  const stop = stopSignal()
  const printed = { count: 0 }
  try {
    await printAll(consumer, options, { stop, printed, look })
    return 0
  } catch (error) {
    if (!(error instanceof ToolExit)) throw error
    return error.code
  } finally {
    await consumer.close()
    err(`Processed a total of ${printed.count} messages\n`)
    if (stop.isSet && options.isSystemTest) await out('shutdown_complete\n')
  }
}

type Look = (() => Promise<void>) | null

async function open({ client, admin }: Session, options: ConsoleOptions): Promise<{ consumer: Consumer; look: Look }> {
  const { topic, include, partition, offset, groupId, autoOffsetReset, autoCommit, readCommitted } = options
  if (partition !== null) {
    const consumer = new Consumer(client, { autoOffsetReset, autoCommit: false, readCommitted })
    const one = { topic: topic ?? '', partition }
    consumer.assign([one])
    if (typeof offset === 'number') consumer.seek(one, offset)
    return { consumer, look: null }
  }
  const consumer = new Consumer(client, { groupId, autoOffsetReset, autoCommit, readCommitted })
  if (include === null) {
    consumer.subscribe([topic ?? ''])
    return { consumer, look: null }
  }
  let known = ''
  const look = async () => {
    const topics = await admin.listTopics({ internal: true })
    const names = topics.map(({ name }) => name).filter((name) => include.test(name))
    if (names.join() === known || names.length === 0) return
    known = names.join()
    consumer.subscribe(names)
  }
  await look()
  return { consumer, look }
}

interface Run {
  readonly stop: { readonly isSet: boolean }
  readonly printed: { count: number }
  readonly look: Look
}

async function printAll(consumer: Consumer, options: ConsoleOptions, { stop, printed, look }: Run): Promise<void> {
  const { maxMessages, timeoutMs, format, skipsErrors } = options
  let heardMs = performance.now()
  let lookedMs = heardMs
  while (printed.count < maxMessages && !stop.isSet) {
    const nowMs = performance.now()
    if (look !== null && nowMs - lookedMs > TOPICS_MS) {
      lookedMs = nowMs
      await look()
    }
    const records = await consumer.poll(Math.min(POLL_MS, timeoutMs))
    if (records.length > 0) heardMs = performance.now()
    else if (performance.now() - heardMs > timeoutMs) return
    const taken = records.slice(0, maxMessages - printed.count)
    giveBack(consumer, records.slice(taken.length))
    await printSome(taken, { format, skipsErrors, printed })
  }
}

async function printSome(
  records: readonly ConsumerRecord[],
  { format, skipsErrors, printed }: Pick<ConsoleOptions, 'format' | 'skipsErrors'> & Pick<Run, 'printed'>,
): Promise<void> {
  const chunks: Buffer[] = []
  try {
    for (const record of records) {
      printed.count++
      try {
        chunks.push(format(record))
      } catch (error) {
        if (!(error instanceof ToolExit) || !skipsErrors) throw error
      }
    }
  } finally {
    if (chunks.length > 0) await write(Buffer.concat(chunks))
  }
}
