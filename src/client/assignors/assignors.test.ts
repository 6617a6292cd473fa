import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { TopicPartition } from '../../model/ids.ts'
import { type Assignment, type GroupMember, partitionKey } from './assignor.ts'
import { cooperativeStickyAssignor } from './cooperative-sticky.ts'
import { rangeAssignor } from './range.ts'

function member(memberId: string, topics: string[], owned: TopicPartition[] = [], generation = -1): GroupMember {
  return { memberId, groupInstanceId: null, topics, owned, generation }
}

function print(assignment: Assignment): Record<string, string> {
  return Object.fromEntries(
    [...assignment].map(([id, partitions]) => [id, partitions.map(partitionKey).sort().join(' ')]),
  )
}

test('range gives runs of each topic, the first members one more', () => {
  const members = [member('b', ['t', 'u']), member('a', ['t']), member('c', ['t', 'u'])]
  const counts = new Map([
    ['t', 7],
    ['u', 3],
  ])
  assert.deepEqual(print(rangeAssignor.assign(members, counts)), {
    b: 't-3 t-4 u-0 u-1',
    a: 't-0 t-1 t-2',
    c: 't-5 t-6 u-2',
  })
})

test('range gives a static member its place back, whatever its member id is now', () => {
  const one = (memberId: string): GroupMember => ({ ...member(memberId, ['t']), groupInstanceId: 'one' })
  const two: GroupMember = { ...member('m', ['t']), groupInstanceId: 'two' }
  const counts = new Map([['t', 2]])
  assert.equal(print(rangeAssignor.assign([two, one('z')], counts)).z, 't-0')
  assert.equal(print(rangeAssignor.assign([one('a'), two], counts)).a, 't-0')
})

test('a partition moves in two steps: nobody has it in between', () => {
  const counts = new Map([['t', 4]])
  const all = [0, 1, 2, 3].map((partition) => ({ topic: 't', partition }))
  const first = cooperativeStickyAssignor.assign([member('a', ['t'], all, 1), member('b', ['t'])], counts)
  assert.deepEqual(print(first), { a: 't-0 t-1', b: '' })
  const second = cooperativeStickyAssignor.assign(
    [member('a', ['t'], first.get('a'), 2), member('b', ['t'], [], 2)],
    counts,
  )
  assert.deepEqual(print(second), { a: 't-0 t-1', b: 't-2 t-3' })
})

test('who claims a partition from an earlier generation has lost it', () => {
  const claim = [{ topic: 't', partition: 0 }]
  const members = [member('a', ['t'], claim, 3), member('b', ['t'], claim, 4)]
  assert.deepEqual(print(cooperativeStickyAssignor.assign(members, new Map([['t', 1]]))), { a: '', b: 't-0' })
})

const group = fc.record({
  counts: fc.dictionary(fc.constantFrom('t', 'u', 'v'), fc.integer({ min: 0, max: 12 })),
  subscriptions: fc.array(fc.subarray(['t', 'u', 'v'], { minLength: 1 }), { minLength: 1, maxLength: 6 }),
})

/** Rebalances until nothing moves any more, as members do. */
function settle(
  members: GroupMember[],
  counts: ReadonlyMap<string, number>,
): { assignment: Assignment; rounds: number } {
  let current = members
  for (let rounds = 1; ; rounds++) {
    const assignment = cooperativeStickyAssignor.assign(current, counts)
    const isStable = current.every(({ memberId, owned }) => {
      const got = new Set((assignment.get(memberId) ?? []).map(partitionKey))
      return owned.every((partition) => got.has(partitionKey(partition)))
    })
    if (isStable) return { assignment, rounds }
    current = current.map((one) => ({ ...one, owned: assignment.get(one.memberId) ?? [], generation: rounds }))
    assert.ok(rounds < 5, 'does not come to rest')
  }
}

test('every partition has exactly one owner, who reads its topic, and shares are equal where they can be', () => {
  fc.assert(
    fc.property(group, ({ counts: record, subscriptions }) => {
      const counts = new Map(Object.entries(record))
      const members = subscriptions.map((topics, index) => member(`m${index}`, topics))
      const { assignment } = settle(members, counts)
      const owners = new Map<string, string>()
      for (const [memberId, partitions] of assignment) {
        const topics = members.find((one) => one.memberId === memberId)?.topics
        for (const partition of partitions) {
          assert.ok(topics?.includes(partition.topic))
          assert.ok(!owners.has(partitionKey(partition)), 'two owners')
          owners.set(partitionKey(partition), memberId)
        }
      }
      for (const [topic, count] of counts) {
        const isRead = members.some(({ topics }) => topics.includes(topic))
        for (let partition = 0; partition < count; partition++)
          assert.equal(owners.has(`${topic}-${partition}`), isRead)
      }
      // Nobody could take a partition from somebody who has two more.
      for (const [memberId, partitions] of assignment) {
        for (const { topic } of partitions) {
          for (const other of members) {
            if (!other.topics.includes(topic)) continue
            const theirs = assignment.get(other.memberId)?.length ?? 0
            assert.ok(
              partitions.length - theirs < 2,
              `${memberId} has ${partitions.length}, ${other.memberId} ${theirs}`,
            )
          }
        }
      }
    }),
  )
})

test('when a member comes or goes, the others keep what they can', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 6 }),
      fc.boolean(),
      (count, size, isJoin) => {
        const counts = new Map([['t', count]])
        const members = Array.from({ length: size }, (_, index) => member(`m${index}`, ['t']))
        const before = settle(members, counts).assignment
        const owning = members.map((one) => ({ ...one, owned: before.get(one.memberId) ?? [], generation: 1 }))
        const changed = isJoin ? [...owning, member('new', ['t'])] : owning.slice(1)
        if (changed.length === 0) return
        const after = settle(changed, counts).assignment
        let moved = 0
        for (const { memberId, owned } of changed) {
          const now = new Set((after.get(memberId) ?? []).map(partitionKey))
          moved += owned.filter((partition) => !now.has(partitionKey(partition))).length
        }
        const fairShare = Math.ceil(count / (size + 1))
        assert.ok(moved <= (isJoin ? fairShare : 0), `${moved} of ${count} moved`)
      },
    ),
  )
})
