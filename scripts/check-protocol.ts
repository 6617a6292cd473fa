/**
 * Compares every definition of `src/protocol` with Kafka's own schemas, field by field. The schemas (JSON, one file a
 * message, as in Kafka's source tree) are not part of the project: their folder is the argument, or MILLRACE_KAFKA_MESSAGES,
 * or `../shared/kafka-messages` beside the checkout; without them the check is skipped and says so.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { allDefinitions, type Definition } from '../src/protocol/definitions.ts'
import type { AnyField, Type } from '../src/protocol/field.ts'

interface KafkaField {
  readonly name: string
  readonly type: string
  readonly versions?: string
  readonly nullableVersions?: string
  readonly taggedVersions?: string
  readonly tag?: number
  readonly default?: string | number | boolean | null
  readonly ignorable?: boolean
  readonly fields?: readonly KafkaField[]
}

interface KafkaMessage {
  readonly apiKey?: number
  readonly type: string
  readonly name: string
  readonly listeners?: readonly string[]
  readonly validVersions: string
  readonly flexibleVersions?: string
  readonly latestVersionUnstable?: boolean
  readonly fields?: readonly KafkaField[]
  readonly commonStructs?: readonly { readonly name: string; readonly fields: readonly KafkaField[] }[]
}

/** A field as both sides can say it. Versions are listed one by one, and only those of the message it is in. */
interface Fact {
  readonly name: string
  readonly type: string
  readonly versions: readonly number[]
  readonly nullable: readonly number[]
  readonly tag: number | null
  readonly default: unknown
  /** Only where it matters: when the field is missing in a version in which its structure exists. */
  readonly ignorable: boolean | null
  readonly fields: readonly Fact[]
}

/** `codec.ts` writes these by hand: a client id that is never compact, and a choice of header that no schema tells. */
const WRITTEN_BY_HAND = ['RequestHeader', 'ResponseHeader']

/** Kafka's control records name the int16 in front, which all our messages have, as their first field. */
function withoutVersionField(message: KafkaMessage): readonly KafkaField[] {
  const [first, ...rest] = message.fields ?? []
  return message.type === 'data' && first?.name === 'Version' && first.type === 'int16' ? rest : (message.fields ?? [])
}

function versionRange(text: string | undefined): readonly [number, number] {
  if (text === undefined || text === 'none') return [1, 0]
  const [first = '', last] = text.replace('+', '-').split('-')
  return [Number(first), last === undefined ? Number(first) : last === '' ? Number.POSITIVE_INFINITY : Number(last)]
}

function within(versions: readonly number[], [first, last]: readonly [number, number]): number[] {
  return versions.filter((version) => version >= first && version <= last)
}

function allVersions([first, last]: readonly [number, number]): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

function camelCase(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1)
}

function kafkaFacts(message: KafkaMessage, fields: readonly KafkaField[], parent: readonly number[]): Fact[] {
  const facts = fields.map((field): Fact => {
    const versions = within(parent, versionRange(field.versions ?? field.taggedVersions))
    const base = field.type.replace('[]', '')
    const isStruct = /^[A-Z]/.test(base)
    const inner = field.fields ?? message.commonStructs?.find(({ name }) => name === base)?.fields ?? []
    const tagged = within(versions, versionRange(field.taggedVersions))
    if (tagged.length > 0 && tagged.length < versions.length)
      throw new Error(`${field.name} is tagged in some versions`)
    return {
      name: camelCase(field.name),
      type: isStruct ? field.type.replace(base, 'struct') : field.type,
      versions,
      nullable: within(versions, versionRange(field.nullableVersions)),
      tag: tagged.length > 0 ? (field.tag ?? null) : null,
      default: kafkaDefault(field, isStruct),
      ignorable: versions.length < parent.length ? field.ignorable === true : null,
      fields: isStruct ? kafkaFacts(message, inner, versions) : [],
    }
  })
  return facts.filter(({ versions }) => versions.length > 0)
}

function kafkaDefault(field: KafkaField, isStruct: boolean): unknown {
  const given = field.default ?? ''
  if (given === 'null') return null
  if (isStruct || field.type.startsWith('[]') || field.type === 'bytes' || field.type === 'records') return 'zero'
  if (field.type === 'string') return given
  if (field.type === 'uuid') return 'zero'
  if (field.type === 'bool') return String(given) === 'true'
  return given === '' ? 0 : Number(given)
}

/** Tags from here on are ours to add: Kafka's peers skip what they do not know. docs/protocol.md lists them. */
const FIRST_TAG_OF_OURS = 10_000

function ourFacts(fields: Readonly<Record<string, AnyField>>, parent: readonly number[]): Fact[] {
  const kafkas = Object.entries(fields).filter(([, { traits }]) => (traits.tag ?? 0) < FIRST_TAG_OF_OURS)
  return kafkas.map(([name, { type, traits }]): Fact => {
    const versions = within(parent, [traits.since, traits.until])
    const innermost = type.kind === 'array' ? type.of : type
    return {
      name,
      type: (type.kind === 'array' ? '[]' : '') + kafkaType(innermost),
      versions,
      nullable: within(versions, [traits.nullableSince, Number.POSITIVE_INFINITY]),
      tag: traits.tag,
      default: ourDefault(type, traits.absent),
      ignorable: versions.length < parent.length ? traits.ignorable : null,
      fields: innermost.kind === 'struct' ? ourFacts(innermost.fields, versions) : [],
    }
  })
}

/** Kafka has one type for what we hold as a number and, where all 64 bits matter, as a bigint. */
function kafkaType(type: Type): string {
  return type.kind === 'bigint64' ? 'int64' : type.kind
}

function ourDefault(type: Type, absent: unknown): unknown {
  if (absent === null) return null
  if (type.kind === 'bigint64') return Number(absent)
  return ['struct', 'array', 'bytes', 'records', 'uuid'].includes(type.kind) ? 'zero' : absent
}

function compareFacts(path: string, kafka: readonly Fact[], ours: readonly Fact[]): string[] {
  const names = (facts: readonly Fact[]) => facts.map(({ name }) => name).join(' ')
  if (names(kafka) !== names(ours)) return [`${path}: fields are "${names(ours)}", Kafka's "${names(kafka)}"`]
  return kafka.flatMap((theirs, index) => {
    const { fields, ...own } = ours[index] as Fact
    const inner = path === '' ? own.name : `${path}.${own.name}`
    const differences = (Object.keys(own) as (keyof typeof own)[])
      .filter((key) => JSON.stringify(own[key]) !== JSON.stringify(theirs[key]))
      .map((key) => `${inner}: ${key} is ${JSON.stringify(own[key])}, Kafka's ${JSON.stringify(theirs[key])}`)
    return [...differences, ...compareFacts(inner, theirs.fields, fields)]
  })
}

function compare(kafka: KafkaMessage, ours: Definition): string[] {
  const versions = allVersions(ours.versions)
  const heads: [string, unknown, unknown][] = [
    ['id', ours.id, kafka.apiKey ?? null],
    ['versions', versions, allVersions(versionRange(kafka.validVersions))],
    ['unstable last version', ours.lastIsUnstable, kafka.latestVersionUnstable === true],
    [
      'flexible versions',
      within(versions, [ours.flexible, Number.POSITIVE_INFINITY]),
      within(versions, versionRange(kafka.flexibleVersions)),
    ],
    ['listeners', ours.listeners, kafka.listeners === undefined ? null : [...kafka.listeners].sort()],
  ]
  const differences = heads
    .map(([what, own, theirs]) => [what, JSON.stringify(own), JSON.stringify(theirs)] as const)
    .filter(([, own, theirs]) => own !== theirs)
    .map(([what, own, theirs]) => `${what} are ${own}, Kafka's ${theirs}`)
  const fields = ours.body.type.kind === 'struct' ? ours.body.type.fields : {}
  const facts = kafkaFacts(kafka, withoutVersionField(kafka), versions)
  return [...differences, ...compareFacts('', facts, ourFacts(fields, versions))].map((text) => `${ours.name}: ${text}`)
}

function readMessages(folder: string): KafkaMessage[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.json'))
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as KafkaMessage)
}

function checkAll(folder: string): string[] {
  const kafka = new Map(
    readMessages(folder)
      .filter(({ name, validVersions }) => validVersions !== 'none' && !WRITTEN_BY_HAND.includes(name))
      .map((message) => [message.name, message]),
  )
  if (kafka.size === 0) return [`no message schemas in ${folder}`]
  const ours = new Map(allDefinitions().map((definition) => [definition.name, definition]))
  const differences: string[] = []
  for (const [name, message] of kafka) {
    const definition = ours.get(name)
    if (definition === undefined) differences.push(`${name}: not defined here`)
    else differences.push(...compare(message, definition))
  }
  for (const name of ours.keys()) if (!kafka.has(name)) differences.push(`${name}: not a message of Kafka`)
  if (differences.length === 0) console.log(`${ours.size} definitions agree with Kafka's in ${folder}`)
  return differences
}

const folder = resolve(
  process.argv[2] ?? process.env.MILLRACE_KAFKA_MESSAGES ?? join(import.meta.dirname, '../../shared/kafka-messages'),
)
if (existsSync(folder)) {
  const differences = checkAll(folder)
  for (const difference of differences) console.log(`  ${difference}`)
  if (differences.length > 0) process.exitCode = 1
} else {
  console.log(
    `skipped: Kafka's message schemas are not at ${folder} (give their folder, or set MILLRACE_KAFKA_MESSAGES)`,
  )
}
