import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEnvironment } from './environment.ts'
import { nodeConfig } from './node-config.ts'
import { resolveSettings, type Setting } from './settings.ts'

function setting(key: string, value: string, origin: Setting['origin'] = 'file'): Setting {
  return { key, value, origin, where: `test ${origin}` }
}

function configOf(...settings: Setting[]) {
  const resolved = resolveSettings(settings)
  const { config, errors } = nodeConfig(resolved.settings)
  return { config, errors: [...resolved.errors, ...errors] }
}

test('flags win over the environment, the environment over the file, the last line of a file over the first', () => {
  const { settings } = resolveSettings([
    setting('num.partitions', '4', 'flag'),
    setting('num.partitions', '3', 'environment'),
    setting('num.partitions', '1'),
    setting('node.id', '7', 'environment'),
    setting('node.id', '8'),
    setting('log.retention.ms', '1000'),
    setting('log.retention.ms', ' 2000 '),
  ])
  assert.equal(settings.number('num.partitions'), 4)
  assert.equal(settings.number('node.id'), 7)
  assert.equal(settings.text('log.retention.ms'), '2000')
  assert.equal(settings.describe('node.id'), 'node.id=7 (test environment)')
  assert.equal(settings.number('default.replication.factor'), 1)
})

test('an unknown key is refused with the nearest name, a bad value with key, value and limit', () => {
  const { errors } = resolveSettings([setting('log.retention.mss', '1'), setting('num.partitions', '0')])
  assert.equal(errors[0], 'Unknown config log.retention.mss. Did you mean log.retention.ms? (test file)')
  assert.match(errors[1] ?? '', /Invalid value 0 for configuration num.partitions.*at least 1.*\(test file\)/)
})

test('keys that mean nothing here are accepted and reported', () => {
  const { errors, ignored } = resolveSettings([setting('num.io.threads', '8'), setting('num.network.threads', '3')])
  assert.deepEqual(errors, [])
  assert.deepEqual(ignored, ['num.io.threads', 'num.network.threads'])
})

test('nothing set: one node on loopback, in ./millrace-data', () => {
  const { config, errors } = configOf()
  assert.deepEqual(errors, [])
  assert.equal(config.nodeId, 1)
  assert.equal(config.dataFolder, './millrace-data')
  assert.deepEqual(config.listeners, [{ name: 'PLAINTEXT', host: '127.0.0.1', port: 9092 }])
  assert.deepEqual(config.controllerListener, { name: 'CONTROLLER', host: '127.0.0.1', port: 9093 })
  assert.equal(config.advertised.size, 0)
})

test('a combined Kafka node’s server.properties is understood', () => {
  const { config, errors } = configOf(
    setting('process.roles', 'broker,controller'),
    setting('node.id', '3'),
    setting('listeners', 'INSIDE://:9092,OUTSIDE://0.0.0.0:9094,CTRL://[::1]:9093'),
    setting('controller.listener.names', 'CTRL'),
    setting('listener.security.protocol.map', 'INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CTRL:PLAINTEXT'),
    setting('inter.broker.listener.name', 'INSIDE'),
    setting('advertised.listeners', 'OUTSIDE://kafka.example.com:443'),
    setting('log.dirs', '/var/lib/kafka'),
  )
  assert.deepEqual(errors, [])
  assert.deepEqual(
    config.listeners.map(({ name }) => name),
    ['INSIDE', 'OUTSIDE'],
  )
  assert.deepEqual(config.controllerListener, { name: 'CTRL', host: '::1', port: 9093 })
  assert.deepEqual([...config.advertised], [['OUTSIDE', { host: 'kafka.example.com', port: 443 }]])
})

test('clients see what the node is, also where nobody said so, and nothing that concerns its process alone', () => {
  const { brokerValues } = configOf(setting('http.listen', 'off'), setting('num.partitions', '3')).config
  assert.equal(brokerValues.get('http.listen'), undefined)
  assert.deepEqual(
    ['node.id', 'listeners', 'process.roles', 'log.dirs', 'num.partitions'].map((key) => brokerValues.get(key)),
    ['1', 'PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093', 'broker,controller', './millrace-data', '3'],
  )
})

test('a node forms a cluster of its own only where nobody else is named', () => {
  const forms = (...given: Setting[]) => configOf(...given).config.membership.forms
  assert.ok(forms())
  assert.ok(forms(setting('node.id', '2'), setting('controller.quorum.voters', '2@a:9093')))
  assert.ok(forms(setting('controller.quorum.bootstrap.servers', '127.0.0.1:9093')), 'its own address')
  for (const [key, value] of [
    ['controller.quorum.voters', '1@a:9093,2@b:9093'],
    ['controller.quorum.voters', '2@a:9093'],
    ['controller.quorum.bootstrap.servers', 'a:9093,127.0.0.1:9093'],
    ['join', 'a:9092'],
  ] as const) {
    assert.ok(!forms(setting(key, value)), `${key}=${value}`)
  }
})

test('where others are is read as people write it, and refused where it cannot be that', () => {
  const { config, errors } = configOf(
    setting('join', 'a:9092, [::1]:9094'),
    setting('controller.quorum.voters', '1@a:9093,2@b:9093'),
  )
  assert.deepEqual(errors, [])
  assert.deepEqual(config.given.join, [
    { host: 'a', port: 9092 },
    { host: '::1', port: 9094 },
  ])
  assert.deepEqual(config.given.staticVoters[1], { id: 2, host: 'b', port: 9093 })
  assert.deepEqual(configOf(setting('join', '9092'), setting('controller.quorum.voters', 'a:9093')).errors, [
    "join=9092 (test file): '9092' is not host:port",
    "controller.quorum.voters=a:9093 (test file): 'a:9093' is not id@host:port",
  ])
})

test('one list of nodes may be given to all of them; a node that is to join only itself would wait for ever', () => {
  const list = configOf(setting('join', '127.0.0.1:9092,b:9092'))
  assert.deepEqual(list.errors, [])
  assert.deepEqual(list.config.given.join, [{ host: 'b', port: 9092 }])
  for (const own of ['127.0.0.1:9092', '127.0.0.1:9093']) {
    assert.match(configOf(setting('join', own)).errors.join(), /names only this node itself/)
  }
})

test('a zone is a name', () => {
  assert.deepEqual(configOf(setting('broker.rack', 'eu-central-1a / Süd, "b"')).errors, [])
  assert.match(configOf(setting('broker.rack', 'a\nb')).errors.join(), /holds no control characters/)
})

test('a mere controller needs no listener for clients', () => {
  const controller = [setting('process.roles', 'controller'), setting('listeners', 'CONTROLLER://:9093')]
  assert.deepEqual(configOf(...controller).errors, [])
  assert.match(configOf(setting('listeners', 'CONTROLLER://:9093')).errors.join(), /names no listener for clients/)
})

test('what this version cannot do is said, each with its key and value', () => {
  const { errors } = configOf(
    setting('listeners', 'SASL_SSL://:9092'),
    setting('log.dirs', '/a,/b'),
    setting('advertised.listeners', 'SASL_SSL://0.0.0.0:9092'),
  )
  assert.deepEqual(errors, [
    "advertised.listeners=SASL_SSL://0.0.0.0:9092 (test file): no client can connect to '0.0.0.0'",
    'listener SASL_SSL: SASL_SSL is not served by this version',
    'log.dirs=/a,/b (test file): a node keeps one data folder; run one node for each disk',
  ])
})

test('environment variables are translated as Kafka’s image does; what Kubernetes and the JVM put there is left alone', () => {
  const { settings, ignored } = readEnvironment({
    KAFKA_LOG_RETENTION_MS: '5',
    MILLRACE_NODE_ID: '2',
    KAFKA_LISTENER_NAME_IN__SIDE_SSL_KEY___PASSWORD: 'x',
    MILLRACE_SERVER: 'kafka.example.com:9092',
    KAFKA_HEAP_OPTS: '-Xmx1G',
    KAFKA_PORT: 'tcp://10.0.0.1:9092',
    KAFKA_PORT_9092_TCP_ADDR: '10.0.0.1',
    KAFKA_SERVICE_HOST: '10.0.0.1',
    PATH: '/bin',
  })
  assert.deepEqual(
    settings.map(({ key, value }) => [key, value]),
    [
      ['listener.name.in_side.ssl.key-password', 'x'],
      ['log.retention.ms', '5'],
      ['node.id', '2'],
    ],
  )
  assert.deepEqual(ignored, ['KAFKA_HEAP_OPTS'])
})
