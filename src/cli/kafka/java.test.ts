import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode } from '../../protocol/errors.ts'
import { BrokerError } from '../../rpc/errors.ts'
import { bucketsFor, exceptionOf, hashOfPartition, hashOfText, inHashOrder, padded } from './java.ts'
import { inTopicOrder } from './topics-choice.ts'

test("keys come in the order of Java's HashMap", () => {
  assert.deepEqual([hashOfText(''), hashOfText('x'), hashOfText('orders')], [0, 120, -1008770331])
  const names = ['__consumer_offsets', 'manual', 'orders', 'x']
  const printed = ['x', 'orders', 'manual', '__consumer_offsets']
  assert.deepEqual(inHashOrder(names, hashOfText), printed)
  assert.deepEqual(inHashOrder(names, hashOfText, bucketsFor(4)), printed)
  assert.deepEqual(inHashOrder(['a_b', 'manual', 'orders'], hashOfText, bucketsFor(3)), ['manual', 'a_b', 'orders'])
  assert.equal(hashOfPartition({ topic: 'x', partition: 2 }), 31 * (31 + 2) + 120)
})

test('topics come in the order of the three maps that they go through', () => {
  const ordered = (...names: string[]) => inTopicOrder(names.map((name) => ({ name }))).map(({ name }) => name)
  assert.deepEqual(ordered('audit', 'orders', '__consumer_offsets'), ['orders', '__consumer_offsets', 'audit'])
  assert.deepEqual(ordered('orders', 'a_b', 'manual'), ['manual', 'a_b', 'orders'])
  assert.deepEqual(ordered('x', '__consumer_offsets', 'orders', 'manual'), [
    'x',
    'orders',
    'manual',
    '__consumer_offsets',
  ])
})

test('rows are padded like printf, the last cell too', () => {
  assert.equal(padded([5, 3, 4], ['ab', 1, 'x']), 'ab    1   x   ')
  assert.equal(padded([2], ['long', 'y']), 'long y')
})

test('errors are called what Kafka calls them', () => {
  const named = (code: number, message: string | null = null) => exceptionOf(new BrokerError(code, 'x', { message }))
  assert.equal(
    named(ErrorCode.NON_EMPTY_GROUP),
    'org.apache.kafka.common.errors.GroupNotEmptyException: The group is not empty.',
  )
  assert.equal(
    named(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'a' does not exist."),
    "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: The topic 'a' does not exist.",
  )
  assert.match(named(ErrorCode.INVALID_CONFIG), /InvalidConfigurationException/)
})
