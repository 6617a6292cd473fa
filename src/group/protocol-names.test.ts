import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClassicGroup } from './classic-group.ts'
import { Member } from './member.ts'

const member = (memberId: string, ...names: string[]) =>
  new Member({
    groupId: 'g',
    memberId,
    groupInstanceId: null,
    clientId: 'c',
    clientHost: '/127.0.0.1',
    rebalanceTimeoutMs: 1000,
    sessionTimeoutMs: 1000,
    protocols: names.map((name) => ({ name, metadata: Buffer.alloc(0) })),
  })

test('a protocol without a name was taken for none, and the node stopped', () => {
  const group = new ClassicGroup('g', 0)
  group.add(member('a', ''), 'consumer')
  group.add(member('b', 'range', ''), 'consumer')
  assert.equal(group.electProtocol(), '')
})
