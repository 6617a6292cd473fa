import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { MetadataImage } from '../metadata/image.ts'
import { type ConfigDef, isSensitive, LONG_MAX, parseConfig } from './config-def.ts'
import { brokerConfigs, clientMetricsConfigs, groupConfigs, topicConfigs } from './config-defs.ts'
import { brokerConfig, brokerValues, ConfigSource, shownValues } from './config-view.ts'
import { topicSynonyms } from './config-topic.ts'
import { describeTopic } from './describe-configs.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { editDistance, likelyNames, nearestName } from './nearest-name.ts'
import { parseStaticConfig } from './static-config.ts'

const tables: Readonly<Record<string, ReadonlyMap<string, ConfigDef>>> = {
  broker: brokerConfigs,
  topic: topicConfigs,
  group: groupConfigs,
  'client-metrics': clientMetricsConfigs,
}

/** Where we differ from Kafka on purpose: our default, and why. */
const ourDefaults: Readonly<Record<string, string>> = {
  'auto.create.topics.enable': 'false', // a mistyped name must not become a topic
  'broker.session.timeout.ms': '3000', // a dead broker is replaced three times as fast
  'broker.heartbeat.interval.ms': '500',
  'controller.quorum.election.timeout.ms': '400', // another controller decides within a second
  'controller.quorum.fetch.timeout.ms': '1000',
  'controller.quorum.request.timeout.ms': '1000',
}
const ourKeys = [
  'log.durability.mode',
  'log.min.free.bytes',
  'log.scrub.bytes.per.second',
  'log.scrub.interval.ms',
  'log.stray.retention.bytes',
  'log.stray.retention.ms',
  'durability.mode',
  'controller.quorum.moved',
]

interface Row {
  readonly resource: string
  readonly name: string
  readonly type: string
  readonly default: string
  readonly bounds: string
  readonly update: string
  readonly internal: string
  readonly synonyms: string
}

const columns = ['resource', 'name', 'type', 'default', 'bounds', 'update', 'internal', 'synonyms'] as const

const rows = readFileSync(new URL('testdata/kafka-4.4.0-configs.tsv', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const cells = line.split('\t')
    return Object.fromEntries(columns.map((column, i) => [column, cells[i] ?? ''])) as unknown as Row
  })

/** The bounds of a definition, as Kafka's validators print themselves. */
function bounds(def: ConfigDef): string | null {
  if (def.atLeast !== undefined || def.atMost !== undefined) {
    const range = `[${def.atLeast ?? ''},...${def.atMost === undefined ? '' : `,${def.atMost}`}]`
    return def.orElse === undefined ? range : `${range} or ${def.orElse}`
  }
  if (def.oneOf !== undefined) return `${def.ignoreCase ? '(case insensitive) ' : ''}[${def.oneOf.join(', ')}]`
  return null
}

test('every config key of Kafka is here with its type, default, bounds and update mode, and no others but ours', () => {
  const known = new Set(ourKeys)
  for (const row of rows) {
    known.add(row.name)
    const def = tables[row.resource]?.get(row.name)
    assert.ok(def !== undefined, `${row.resource} ${row.name} is missing`)
    assert.equal(def.type, row.type, row.name)
    const value = row.default === 'null' || row.default === '<none>' ? null : row.default
    assert.equal(def.default, ourDefaults[row.name] ?? value, `default of ${row.name}`)
    if (bounds(def) !== null) assert.equal(bounds(def), row.bounds, `bounds of ${row.name}`)
    else if (/^\[[-0-9]/.test(row.bounds)) assert.fail(`${row.name} has no bounds, Kafka's are ${row.bounds}`)
    if (row.resource === 'broker') assert.equal(def.update, row.update, `update mode of ${row.name}`)
    assert.equal(def.internal === true, row.internal === 'internal', `${row.name} internal`)
  }
  for (const [resource, table] of Object.entries(tables)) {
    for (const [name, def] of table) assert.ok(known.has(name) || def.dynamicOnly, `${resource} ${name} is not Kafka's`)
  }
})

test('topics take their defaults from the broker keys that Kafka takes them from', () => {
  for (const { resource, name, synonyms } of rows) {
    if (resource !== 'topic' || synonyms === '') continue
    assert.equal(topicSynonyms.get(name)?.[0]?.name, synonyms.split(',')[0], name)
  }
  for (const [topicKey, names] of topicSynonyms) {
    assert.ok(topicConfigs.has(topicKey), topicKey)
    for (const { name } of names) assert.ok(brokerConfigs.has(name), name)
  }
})

test('every default is a value of its own config, in normal form, and every key has a line of documentation', () => {
  for (const table of Object.values(tables)) {
    for (const def of table.values()) {
      assert.ok(def.doc.length > 10 && def.doc.endsWith('.'), def.name)
      if (def.default !== null && def.default !== '')
        assert.deepEqual(parseConfig(def, def.default), { value: def.default })
    }
  }
})

test('values are brought into the form in which Kafka shows them', () => {
  const of = (name: string, text: string) => parseConfig(topicConfigs.get(name) as ConfigDef, text)
  assert.deepEqual(of('retention.ms', ' 007 '), { value: '7' })
  assert.deepEqual(of('retention.ms', '+5'), { value: '5' })
  assert.deepEqual(of('flush.messages', LONG_MAX), { value: LONG_MAX })
  assert.deepEqual(of('preallocate', 'TRUE'), { value: 'true' })
  assert.deepEqual(of('cleanup.policy', 'compact , delete'), { value: 'compact,delete' })
  assert.deepEqual(of('cleanup.policy', ''), { value: '' })
  assert.deepEqual(of('min.cleanable.dirty.ratio', '1'), { value: '1.0' })
  assert.deepEqual(of('min.cleanable.dirty.ratio', '1e-4'), { value: '1.0E-4' })
})

test('a value that is none is refused with the value, the key and the limit', () => {
  const cases: [key: string, value: string, message: string][] = [
    ['retention.ms', 'x', 'Invalid value x for configuration retention.ms: Not a number of type LONG'],
    ['retention.ms', '-2', 'Invalid value -2 for configuration retention.ms: Value must be at least -1'],
    ['retention.ms', '1.5', 'Invalid value 1.5 for configuration retention.ms: Not a number of type LONG'],
    [
      'segment.bytes',
      '2147483648',
      'Invalid value 2147483648 for configuration segment.bytes: Not a number of type INT',
    ],
    ['segment.bytes', '1000', 'Invalid value 1000 for configuration segment.bytes: Value must be at least 1048576'],
    [
      'min.cleanable.dirty.ratio',
      '1.1',
      'Invalid value 1.1 for configuration min.cleanable.dirty.ratio: Value must be no more than 1',
    ],
    [
      'preallocate',
      'yes',
      'Invalid value yes for configuration preallocate: Expected value to be either true or false',
    ],
    [
      'durability.mode',
      'sometimes',
      'Invalid value sometimes for configuration durability.mode: String must be one of: fsync, relaxed',
    ],
  ]
  for (const [key, value, message] of cases) {
    assert.deepEqual(parseConfig(topicConfigs.get(key) as ConfigDef, value), { error: message })
  }
})

test('an unknown key stops the start and names what was meant; keys of no effect are listed', () => {
  const given = new Map([
    ['num.partitons', '3'],
    ['num.io.threads', '8'],
    ['log.retention.hours', ' 24 '],
    ['listener.name.internal.ssl.key.password', 'secret'],
    ['millrace.http', 'x'],
    ['node.id', '4'],
  ])
  const { values, problems, ignored } = parseStaticConfig(given, ['millrace.http'])
  assert.deepEqual(problems, [
    { name: 'num.partitons', message: 'Unknown config num.partitons. Did you mean num.partitions?' },
  ])
  assert.deepEqual(ignored, ['num.io.threads', 'listener.name.internal.ssl.key.password'])
  assert.equal(values.get('log.retention.hours'), '24')
  assert.equal(values.get('broker.id'), '4')
  assert.equal(
    parseStaticConfig(
      new Map([
        ['node.id', '1'],
        ['broker.id', '2'],
      ]),
    ).problems.length,
    1,
  )
})

test('hours and minutes stand for milliseconds, and the finest unit that is set wins', () => {
  const retention = (...set: [string, string][]) => {
    const broker = { brokerId: 1, staticValues: new Map(set) }
    const own = new Map<string, string>()
    const described = describeTopic(MetadataImage.empty, broker, 'orders', { own, replicationFactor: 1 })
    return described.find(({ name }) => name === 'retention.ms')?.value
  }
  assert.equal(retention(), '604800000')
  assert.equal(retention(['log.retention.hours', '1']), '3600000')
  assert.equal(retention(['log.retention.hours', '1'], ['log.retention.minutes', '2']), '120000')
  assert.equal(retention(['log.retention.hours', '1'], ['log.retention.ms', '5']), '5')
  assert.equal(retention(['log.retention.hours', '-1']), '-1')
})

test('a config that only another unit sets is unset: kafka-configs listed log.retention.hours once log.retention.ms was set', () => {
  const at = { brokerId: 1, staticValues: new Map([['log.retention.ms', '5']]) }
  const shown = (name: string) => shownValues(brokerValues(MetadataImage.empty, at, name), name)
  const hours = { name: 'log.retention.hours', value: '168', source: ConfigSource.default }
  assert.deepEqual(shown('log.retention.hours'), [hours])
  assert.deepEqual(shown('log.retention.minutes'), [])
  const own = { name: 'log.retention.ms', value: '5', source: ConfigSource.staticBroker }
  assert.deepEqual(shown('log.retention.ms'), [own, hours])
})

test('a broker key has its value for the broker, for all brokers, from its file, or its default, in this order', () => {
  const broker = { brokerId: 1, staticValues: new Map([['num.partitions', '5']]) }
  assert.equal(brokerConfig(MetadataImage.empty, broker, 'num.partitions'), '5')
  assert.equal(brokerConfig(MetadataImage.empty, { ...broker, staticValues: new Map() }, 'num.partitions'), '1')
})

test('the edit distance is symmetric, zero for equals only, and at most the longer length', () => {
  const word = fc.string({ maxLength: 12 })
  fc.assert(
    fc.property(word, word, (a, b) => {
      const distance = editDistance(a, b)
      assert.equal(distance, editDistance(b, a))
      assert.equal(distance === 0, a === b)
      assert.ok(distance <= Math.max(a.length, b.length) && distance >= Math.abs(a.length - b.length))
    }),
  )
  assert.equal(nearestName('retention.sm', topicConfigs.keys()), 'retention.ms')
  assert.equal(nearestName('completely.different.thing', topicConfigs.keys()), null)
})

test('who typed a part of a name is told the names that it is a part of', () => {
  const errors = Object.keys(ErrorCode)
  assert.equal(likelyNames('NOT_ENOUGH', errors), 'NOT_ENOUGH_REPLICAS or NOT_ENOUGH_REPLICAS_AFTER_APPEND')
  assert.equal(likelyNames('NOT_LEAD', errors), 'NOT_LEADER_OR_FOLLOWER')
  assert.equal(likelyNames('NOT_ENUOGH_REPLICA', errors), 'NOT_ENOUGH_REPLICAS', 'the nearest, where one is near')
  assert.match(String(likelyNames('retention', topicConfigs.keys())), /^retention\.ms, retention\.bytes, /)
  for (const text of ['', '.', 'ms', '___', 'etention.something']) {
    assert.equal(likelyNames(text, topicConfigs.keys()), null, text)
  }
})

test('passwords are recognised as such', () => {
  for (const def of brokerConfigs.values()) {
    if (/password|secret\.key$|jaas\.config$|passphrase/.test(def.name)) assert.ok(isSensitive(def), def.name)
  }
})

test('a choice that is there twice counts once, and other lists keep what is there twice, as with Kafka', () => {
  const shown = (name: string, text: string) => parseConfig(topicConfigs.get(name) as ConfigDef, text)
  assert.deepEqual(shown('cleanup.policy', 'compact, delete,compact'), { value: 'compact,delete' })
  const replicas = 'leader.replication.throttled.replicas'
  assert.deepEqual(shown(replicas, '0:1,0:1'), { value: '0:1,0:1' })
})

test('a setting of a broker that nothing here goes by says so', () => {
  const source = join(import.meta.dirname, '..')
  const goesBy = (path: string) => !/\.test\.ts$|config-broker-/.test(path)
  const paths = globSync('**/*.ts', { cwd: source }).filter(goesBy)
  const code = paths.map((path) => readFileSync(join(source, path), 'utf8')).join('\n')
  const silent = [...brokerConfigs.values()].filter(
    (def) => def.ignored === undefined && !code.includes(`'${def.name}'`),
  )
  assert.deepEqual(
    silent.map(({ name }) => name),
    [],
  )
})
