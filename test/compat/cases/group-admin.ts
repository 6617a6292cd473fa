/** Groups from outside: listed, described, their offsets changed, deleted. */
import assert from 'node:assert/strict'
import { committedOffset } from '../../support/wire-calls.ts'
import type { Case } from '../case.ts'
import type { Context } from '../context.ts'
import type { Feature } from '../protocol.ts'
import { commitFor, Member, pollUntil, produceTo } from './membership.ts'
import { tell } from './tell.ts'
import { errorOf, numbered } from './values.ts'

interface Group {
  readonly topic: string
  readonly group: string
}

function named(context: Context): Group {
  return { topic: context.name('t'), group: context.name('g') }
}

/** A group that has committed offset 6 of 10 and has no members. */
async function emptyGroup(context: Context): Promise<Group> {
  await context.topic('t')
  const { topic, group } = named(context)
  await produceTo(context, topic, numbered(10))
  await commitFor(context, { group, topic, partition: 0, offset: 6 })
  return { topic, group }
}

async function withMember(context: Context): Promise<Group & { member: Member }> {
  await context.topic('t', 2)
  const { topic, group } = named(context)
  const member = await Member.join(context, { group, topics: [topic] })
  await pollUntil('it has partitions', [member], () => member.partitions.length === 2)
  return { topic, group, member }
}

type Prepare<G extends Group> = (context: Context) => G | Promise<G>

function groupCase<G extends Group>(options: {
  name: string
  title: string
  needs: readonly Feature[]
  prepare: Prepare<G>
  run(context: Context, group: G): Promise<unknown>
}): Case {
  const { name, title, needs, prepare, run } = options
  return { name, title, needs, run: async (context) => run(context, await prepare(context)) }
}

function listCase(name: string, title: string, prepare: Prepare<Group>, needs: readonly Feature[] = []): Case {
  return groupCase({
    name: `list-groups-${name}`,
    title,
    needs: ['listGroups', ...needs],
    prepare,
    async run(context, { group }) {
      const { groups } = await (await context.adapter()).ask('listGroups', {})
      return groups.filter((listed) => listed.group === group)
    },
  })
}

function describeCase(name: string, title: string, prepare: Prepare<Group>, needs: readonly Feature[] = []): Case {
  return groupCase({
    name: `describe-group-${name}`,
    title,
    needs: ['describeGroup', ...needs],
    prepare,
    async run(context, { group }) {
      const adapter = await context.adapter()
      return tell(() => adapter.ask('describeGroup', { group }))
    },
  })
}

function deleteCase(name: string, title: string, prepare: Prepare<Group>, needs: readonly Feature[] = []): Case {
  return groupCase({
    name: `delete-group-${name}`,
    title,
    needs: ['deleteGroups', ...needs],
    prepare,
    async run(context, { group }) {
      const adapter = await context.adapter()
      const answer = await tell(() => adapter.ask('deleteGroups', { groups: [group] }))
      return 'groups' in answer ? answer.groups.map(({ error }) => errorOf(error)) : answer
    },
  })
}

const committed = groupCase({
  name: 'committed',
  title: 'committed offsets of a group',
  needs: ['committed'],
  prepare: emptyGroup,
  async run(context, { group, topic }) {
    const { offsets } = await (await context.adapter()).ask('committed', { group, topic, partitions: [0] })
    assert.equal(offsets[0]?.offset, 6)
    return offsets
  },
})

const committedUnknown = groupCase({
  name: 'committed-unknown',
  title: 'committed offsets of a group that does not exist',
  needs: ['committed'],
  prepare: async (context) => ({ topic: await context.topic('t'), group: context.name('missing') }),
  async run(context, { group, topic }) {
    const adapter = await context.adapter()
    return tell(() => adapter.ask('committed', { group, topic, partitions: [0] }))
  },
})

function alterCase(name: string, title: string, prepare: Prepare<Group>, needs: readonly Feature[] = []): Case {
  return groupCase({
    name,
    title,
    needs: ['alterOffsets', ...needs],
    prepare,
    async run(context, { group, topic }) {
      const adapter = await context.adapter()
      const offsets = [{ partition: 0, offset: 2 }]
      const answer = await tell(() => adapter.ask('alterOffsets', { group, topic, offsets }))
      const now = await context.wire((wire) => committedOffset(wire, { group, topic, partition: 0 }))
      return { answer, now }
    },
  })
}

function forgetCase(name: string, title: string, prepare: Prepare<Group>, needs: readonly Feature[] = []): Case {
  return groupCase({
    name,
    title,
    needs: ['deleteOffsets', ...needs],
    prepare,
    async run(context, { group, topic }) {
      const adapter = await context.adapter()
      const answer = await tell(() => adapter.ask('deleteOffsets', { group, topic, partitions: [0] }))
      const now = await context.wire((wire) => committedOffset(wire, { group, topic, partition: 0 }))
      return { answer, now }
    },
  })
}

export const groupAdminCases: readonly Case[] = [
  listCase('member', 'a group with a member is listed', withMember, ['groups']),
  listCase('empty', 'a group without members is listed', emptyGroup),
  describeCase('member', 'a group with a member is described', withMember, ['groups']),
  describeCase('empty', 'a group without members is described', emptyGroup),
  describeCase('unknown', 'a group that does not exist is described', named),
  deleteCase('empty', 'a group without members is deleted', emptyGroup),
  deleteCase('member', 'a group with a member is not deleted', withMember, ['groups']),
  deleteCase('unknown', 'deleting a group that does not exist', named),
  committed,
  committedUnknown,
  alterCase('alter-offsets', 'offsets of a group without members are changed', emptyGroup),
  alterCase('alter-offsets-member', 'offsets of a group with a member are not changed', withMember, ['groups']),
  forgetCase('delete-offsets', 'offsets of a group without members are deleted', emptyGroup),
  forgetCase('delete-offsets-member', 'offsets of a topic that a member reads are not deleted', withMember, ['groups']),
]
