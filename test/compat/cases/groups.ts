/** Groups: sharing, taking over, commits, where a new group begins. */
import assert from 'node:assert/strict'
import { Refused } from '../adapter.ts'
import type { Case } from '../case.ts'
import type { Context } from '../context.ts'
import {
  assertInOrder,
  commitFor,
  committedBy,
  hasRead,
  isShared,
  Member,
  type MemberOptions,
  ownersHaveRead,
  pollUntil,
  produceTo,
  shortSessionTimeoutMs,
} from './membership.ts'
import { errorOf, keptForEver, numbered, record } from './values.ts'

const partitions = 6

function threeMembers(context: Context, how: MemberOptions): Promise<Member[]> {
  return Promise.all([0, 1, 2].map(() => Member.join(context, how)))
}

const ofThree: Case = {
  name: 'group-of-three',
  title: 'three members share six partitions, read everything and leave',
  needs: ['groups'],
  async run(context) {
    const [topic, group] = [await context.topic('t', partitions), context.name('g')]
    const sent = numbered(120)
    const members = await threeMembers(context, { group, topics: [topic] })
    await pollUntil('all partitions are shared', members, () => isShared(members, partitions))
    await produceTo(context, topic, sent)
    await pollUntil(
      'everything is read, and still shared',
      members,
      () => hasRead(members, sent) && isShared(members, partitions),
    )
    const sizes = members.map((member) => member.partitions.length)
    members.forEach(assertInOrder)
    await Promise.all(members.map((member) => member.close()))
    // A rebalance in between may make a client read again what it has not committed: each record counts once.
    const read = new Set(
      members.flatMap((member) => member.read.map(({ partition, offset }) => `${partition}-${offset}`)),
    )
    return { sizes, read: read.size }
  },
}

const memberKilled: Case = {
  name: 'member-killed',
  title: 'one of three is killed: the others take over, no record is lost',
  needs: ['groups'],
  async run(context) {
    const [topic, group] = [await context.topic('t', partitions), context.name('g')]
    const members = await threeMembers(context, { group, topics: [topic], sessionTimeoutMs: shortSessionTimeoutMs })
    await pollUntil('all partitions are shared', members, () => isShared(members, partitions))
    const [first, ...others] = members as [Member, ...Member[]]
    const sent = numbered(90)
    await produceTo(context, topic, sent)
    await pollUntil('the one to be killed has read', members, () => first.read.length > 0)
    first.adapter.kill()
    const later = numbered(90, undefined, 90)
    await produceTo(context, topic, later)
    await pollUntil(
      'the others share all partitions and read everything',
      others,
      () => isShared(others, partitions) && hasRead(others, [...sent, ...later]),
    )
    others.forEach(assertInOrder)
    return others.map((member) => member.partitions.length)
  },
}

const commitRestart: Case = {
  name: 'commit-restart',
  title: 'the next member begins where the last one committed',
  needs: ['groups', 'commit'],
  async run(context) {
    const [topic, group] = [await context.topic('t'), context.name('g')]
    const [sent, more] = [numbered(20), numbered(10, undefined, 20)]
    await produceTo(context, topic, sent)
    const first = await Member.join(context, { group, topics: [topic] })
    await pollUntil('20 records', [first], () => hasRead([first], sent))
    await first.commit()
    await first.close()
    await produceTo(context, topic, more)
    const second = await Member.join(context, { group, topics: [topic] })
    await pollUntil('10 more', [second], () => hasRead([second], more))
    await second.close()
    const offsets = second.read.map(({ offset }) => offset)
    assert.deepEqual(
      offsets,
      more.map((_, i) => 20 + i),
    )
    return { offsets, committed: await committedBy(context, group, topic, 1) }
  },
}

const uncommitted: Case = {
  name: 'uncommitted',
  title: 'what was not committed is read again',
  needs: ['groups', 'commit'],
  async run(context) {
    const [topic, group] = [await context.topic('t'), context.name('g')]
    const sent = numbered(20)
    await produceTo(context, topic, sent)
    const first = await Member.join(context, { group, topics: [topic] })
    await pollUntil('20 records', [first], () => hasRead([first], sent))
    await first.close()
    const second = await Member.join(context, { group, topics: [topic] })
    await pollUntil('20 records again', [second], () => hasRead([second], sent))
    await second.close()
    return second.read.map(({ offset }) => offset)
  },
}

const resetEarliest: Case = {
  name: 'reset-earliest',
  title: 'a new group begins at the earliest',
  needs: ['groups'],
  async run(context) {
    const [topic, group] = [await context.topic('t'), context.name('g')]
    const [before, after] = [numbered(10), numbered(10, undefined, 10)]
    await produceTo(context, topic, before)
    const member = await Member.join(context, { group, topics: [topic], reset: 'earliest' })
    await pollUntil('what was there', [member], () => hasRead([member], before))
    await produceTo(context, topic, after)
    await pollUntil('what came after', [member], () => hasRead([member], after))
    await member.close()
    return member.read.map(({ offset }) => offset)
  },
}

const resetLatest: Case = {
  name: 'reset-latest',
  title: 'a new group begins at the latest',
  needs: ['groups'],
  async run(context) {
    const [topic, group] = [await context.topic('t'), context.name('g')]
    const [before, after] = [numbered(10), numbered(10, undefined, 10)]
    await produceTo(context, topic, before)
    const member = await Member.join(context, { group, topics: [topic], reset: 'latest' })
    await pollUntil('the partition', [member], () => member.partitions.length === 1)
    await hasBegun(context, topic, member)
    await produceTo(context, topic, after)
    await pollUntil('what came after', [member], () => hasRead([member], after))
    await member.close()
    assertInOrder(member)
    const sent = new Set([...before, ...after].map(({ key }) => key))
    return member.read.map(({ key }) => key).filter((key) => sent.has(key))
  },
}

/** A client asks where to begin once it has the partition, and does not tell when it knows: it does when it reads something sent meanwhile. */
async function hasBegun(context: Context, topic: string, member: Member): Promise<void> {
  for (let tries = 0; member.read.length === 0; tries++) {
    assert.ok(tries < 80, 'the member has its partition and reads nothing')
    await produceTo(context, topic, [record(`try-${tries}`, 'is it there?')])
    await member.poll(500)
  }
}

const resetByTime: Case = {
  name: 'reset-by-time',
  title: 'a group is set to a time, and reads from there',
  needs: ['timestamps', 'offsetsForTimes', 'alterOffsets', 'groups'],
  async run(context) {
    const [topic, group] = [await context.topic('t', 1, keptForEver), context.name('g')]
    const start = 1_700_000_000_000
    await produceTo(
      context,
      topic,
      numbered(30, (i) => ({ timestamp: start + i * 1000 })),
    )
    const adapter = await context.adapter()
    const timestamps = [start + 11_500, start, start + 60_000]
    const { offsets } = await adapter.ask('offsetsForTimes', { topic, partition: 0, timestamps })
    assert.equal(offsets[0]?.offset, 12)
    await adapter.ask('alterOffsets', { group, topic, offsets: [{ partition: 0, offset: 12 }] })
    const member = await Member.join(context, { group, topics: [topic] })
    await pollUntil('18 records', [member], () => member.read.length >= 18)
    await member.close()
    return { offsets, read: member.read.map(({ offset }) => offset) }
  },
}

const resetOutOfRange: Case = {
  name: 'reset-out-of-range',
  title: 'a group whose committed offset was deleted begins at the earliest',
  needs: ['groups', 'deleteRecords'],
  async run(context) {
    const [topic, group] = [await context.topic('t'), context.name('g')]
    await produceTo(context, topic, numbered(10))
    await commitFor(context, { group, topic, partition: 0, offset: 2 })
    await (await context.adapter()).ask('deleteRecords', { topic, partition: 0, before: 4 })
    const member = await Member.join(context, { group, topics: [topic] })
    await pollUntil('6 records', [member], () => member.read.length >= 6)
    await member.close()
    return member.read.map(({ offset }) => offset)
  },
}

const staticMember: Case = {
  name: 'static-member',
  title: 'a static member that was killed comes back and has its partitions again',
  needs: ['groups', 'static-membership'],
  async run(context) {
    const [topic, group] = [await context.topic('t', 4), context.name('g')]
    const join = (instanceId: string) =>
      Member.join(context, { group, topics: [topic], instanceId, sessionTimeoutMs: 30_000 })
    const members = await Promise.all(['one', 'two'].map(join))
    await pollUntil('all partitions are shared', members, () => isShared(members, 4))
    const [one, two] = members as [Member, Member]
    const before = one.partitions
    one.adapter.kill()
    const back = await join('one')
    await pollUntil('it has partitions', [back, two], () => back.partitions.length > 0)
    assert.deepEqual(back.partitions, before)
    return { sizes: [back.partitions.length, two.partitions.length] }
  },
}

const staticFenced: Case = {
  name: 'static-fenced',
  title: 'a second member with the same instance id fences the first',
  needs: ['groups', 'static-membership', 'static-fencing'],
  async run(context) {
    const [topic, group] = [await context.topic('t', 2), context.name('g')]
    const join = () => Member.join(context, { group, topics: [topic], instanceId: 'one', sessionTimeoutMs: 30_000 })
    const first = await join()
    await pollUntil('it has partitions', [first], () => first.partitions.length === 2)
    const second = await join()
    await pollUntil('the second has partitions', [second], () => second.partitions.length === 2)
    const error = await refusedPoll(first, 12_000)
    const sent = numbered(20)
    await produceTo(context, topic, sent)
    await pollUntil('the second reads', [second], () => hasRead([second], sent))
    return { error }
  },
}

/** What a poll of the member is refused for within the time; clients may also fall silent. */
async function refusedPoll(member: Member, withinMs: number) {
  for (const deadline = performance.now() + withinMs; performance.now() < deadline; ) {
    try {
      await member.poll(500)
    } catch (error) {
      if (error instanceof Refused) return errorOf(error.failure)
      throw error
    }
  }
  return null
}

const consumerProtocol: Case = {
  name: 'consumer-protocol',
  title: 'group.protocol=consumer (KIP-848): two members share, read and commit',
  needs: ['groups', 'commit', 'consumer-protocol'],
  async run(context) {
    const [topic, group] = [await context.topic('t', 4), context.name('g')]
    const sent = numbered(40)
    await produceTo(context, topic, sent)
    const join = () => Member.join(context, { group, topics: [topic], protocol: 'consumer' })
    const members = [await join(), await join()]
    await pollUntil('all partitions are shared', members, () => isShared(members, 4), 20_000)
    // The first of them has read what the second one is given and reads again.
    await pollUntil(
      'everything is read by who shall commit it',
      members,
      () => isShared(members, 4) && ownersHaveRead(members, sent),
    )
    for (const member of members) await member.commit()
    await Promise.all(members.map((member) => member.close()))
    return committedBy(context, group, topic, 4)
  },
}

export const groupCases: readonly Case[] = [
  ofThree,
  memberKilled,
  commitRestart,
  uncommitted,
  resetEarliest,
  resetLatest,
  resetByTime,
  resetOutOfRange,
  staticMember,
  staticFenced,
  consumerProtocol,
]
