import { randomInt } from 'node:crypto'
import type { FlagKinds, Flags } from './flags.ts'
import { type Formatter, formatterOf } from './message-formatter.ts'
import { clientProperties, parsePairs, readProperties } from './properties.ts'
import { out, requireFlags, ToolExit, unsupported, usage } from './tool.ts'
import { wholeMatch } from './topics-choice.ts'

export const CONSUMER_KINDS: FlagKinds = {
  'bootstrap-server': 'value',
  'command-config': 'value',
  'command-property': 'value',
  'consumer-property': 'value',
  'consumer.config': 'value',
  'enable-systest-events': 'switch',
  formatter: 'value',
  'formatter-config': 'value',
  'formatter-property': 'value',
  'from-beginning': 'switch',
  group: 'value',
  include: 'value',
  'isolation-level': 'value',
  'key-deserializer': 'value',
  'max-messages': 'int',
  offset: 'value',
  partition: 'int',
  property: 'value',
  'skip-message-on-error': 'switch',
  'timeout-ms': 'long',
  topic: 'value',
  'value-deserializer': 'value',
}

export interface ConsoleOptions {
  readonly bootstrap: string
  readonly clientId: string
  /** Null: by `include`. */
  readonly topic: string | null
  readonly include: RegExp | null
  /** Null: as a member of a group. */
  readonly partition: number | null
  readonly offset: number | 'earliest' | 'latest'
  readonly groupId: string
  readonly autoOffsetReset: 'earliest' | 'latest' | 'none'
  readonly autoCommit: boolean
  readonly readCommitted: boolean
  readonly maxMessages: number
  readonly timeoutMs: number
  readonly format: Formatter
  readonly skipsErrors: boolean
  readonly isSystemTest: boolean
}

const TAKEN = [
  'auto.commit.interval.ms',
  'auto.offset.reset',
  'client.id',
  'enable.auto.commit',
  'group.id',
  'isolation.level',
]

/** Throws `ToolExit`. */
export async function consoleOptions(flags: Flags): Promise<ConsoleOptions> {
  await checkRenamed(flags)
  if ((flags.has('topic') ? 1 : 0) + (flags.has('include') ? 1 : 0) !== 1)
    throw usage('Exactly one of the following arguments is required: [topic], [include]')
  const offset = offsetOf(flags)
  requireFlags(flags, 'bootstrap-server')
  const properties = clientProperties(flags, {
    files: ['consumer.config', 'command-config'],
    pairs: ['consumer-property', 'command-property'],
    taken: TAKEN,
  })
  const group = groupOf(flags, properties)
  const isFromStart = offset === 'earliest'
  return {
    bootstrap: flags.value('bootstrap-server') ?? '',
    clientId: properties.get('client.id') ?? 'console-consumer',
    topic: flags.value('topic') ?? null,
    include: flags.has('include') ? wholeMatch(flags.value('include') ?? '') : null,
    partition: flags.number('partition') ?? null,
    offset,
    groupId: group ?? `console-consumer-${randomInt(100_000)}`,
    autoOffsetReset: resetOf(flags, properties, isFromStart),
    // Nobody comes back to a group that has no name.
    autoCommit:
      properties.get('enable.auto.commit') === undefined
        ? group !== null
        : properties.get('enable.auto.commit') === 'true',
    readCommitted: isolationOf(flags, properties),
    maxMessages: limitOf(flags),
    timeoutMs: flags.number('timeout-ms') ?? Number.POSITIVE_INFINITY,
    format: formatterOf(flags.value('formatter') ?? DEFAULT_FORMATTER, formatterProperties(flags)),
    skipsErrors: flags.has('skip-message-on-error'),
    isSystemTest: flags.has('enable-systest-events'),
  }
}

const DEFAULT_FORMATTER = 'org.apache.kafka.tools.consumer.DefaultMessageFormatter'

const RENAMED = [
  ['property', 'formatter-property'],
  ['consumer-property', 'command-property'],
  ['consumer.config', 'command-config'],
] as const

async function checkRenamed(flags: Flags): Promise<void> {
  for (const [old, now] of RENAMED) {
    if (flags.has(old) && flags.has(now)) throw usage(`Options --${old} and --${now} cannot be specified together.`)
    if (flags.has(old))
      await out(`Option --${old} is deprecated and will be removed in a future version. Use --${now} instead.\n`)
  }
}

function offsetOf(flags: Flags): ConsoleOptions['offset'] {
  const text = flags.value('offset')
  if (flags.has('partition') && !flags.has('topic')) throw usage('The topic is required when partition is specified.')
  if (text === undefined) return flags.has('from-beginning') ? 'earliest' : 'latest'
  if (!flags.has('partition')) throw usage('The partition is required when offset is specified.')
  if (flags.has('from-beginning')) throw usage('Options from-beginning and offset cannot be specified together.')
  const lower = text.toLowerCase()
  if (lower === 'earliest' || lower === 'latest') return lower
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw usage(
    `The provided offset value '${text}' is incorrect. Valid values are 'earliest', 'latest', or a non-negative long.`,
  )
}

/** Null: none was named. */
function groupOf(flags: Flags, properties: ReadonlyMap<string, string>): string | null {
  const named = [flags.value('group'), properties.get('group.id')].filter((group) => group !== undefined)
  const different = [...new Set(named)]
  if (different.length <= 1) return different[0] ?? null
  const detected = different.map((group) => `'${group}'`).join(', ')
  throw usage(
    `The group ids provided in different places (directly using '--group', via '--consumer-property', or via '--consumer.config') do not match. Detected group ids: ${detected}`,
  )
}

function resetOf(
  flags: Flags,
  properties: ReadonlyMap<string, string>,
  isFromStart: boolean,
): ConsoleOptions['autoOffsetReset'] {
  const given = properties.get('auto.offset.reset')
  if (given === undefined) return isFromStart ? 'earliest' : 'latest'
  if (flags.has('from-beginning') && given !== 'earliest') {
    const text = `Can't simultaneously specify --from-beginning and 'auto.offset.reset=${given}'`
    throw new ToolExit(1, 'stderr', `${text}, please remove one option`)
  }
  if (given === 'earliest' || given === 'latest' || given === 'none') return given
  throw unsupported(`auto.offset.reset=${given}`)
}

function isolationOf(flags: Flags, properties: ReadonlyMap<string, string>): boolean {
  const level = flags.value('isolation-level') ?? properties.get('isolation.level') ?? 'read_uncommitted'
  if (level !== 'read_committed' && level !== 'read_uncommitted')
    throw new ToolExit(
      1,
      'stderr',
      `Invalid value ${level} for configuration isolation.level: String must be one of: read_committed, read_uncommitted`,
    )
  return level === 'read_committed'
}

function limitOf(flags: Flags): number {
  const limit = flags.number('max-messages') ?? -1
  return limit === -1 ? Number.POSITIVE_INFINITY : limit
}

function formatterProperties(flags: Flags): Map<string, string> {
  const file = flags.value('formatter-config')
  const all = new Map([
    ...(file === undefined ? [] : readProperties(file)),
    ...parsePairs([...flags.values('property'), ...flags.values('formatter-property')]),
  ])
  for (const kind of ['key', 'value']) {
    const reader = flags.value(`${kind}-deserializer`)
    if (reader !== undefined) all.set(`${kind}.deserializer`, reader)
  }
  return all
}
