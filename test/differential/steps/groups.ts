import { Heartbeat } from '../../../src/protocol/apis/heartbeat.ts'
import { JoinGroup } from '../../../src/protocol/apis/join-group.ts'
import { LeaveGroup } from '../../../src/protocol/apis/leave-group.ts'
import { SyncGroup } from '../../../src/protocol/apis/sync-group.ts'
import type { Model, ModelMember } from '../model.ts'
import { type Body, Learned, type Step } from '../step.ts'

/** The shortest session that the servers allow: nobody's ends while a sequence runs. */
export const SESSION_MS_MIN = 60_000

/** A subscription to one topic; the user data tells the members apart in what the leader gets. */
function subscription(topic: string, userData: string): Buffer {
  const name = Buffer.from(topic)
  const data = Buffer.from(userData)
  const head = Buffer.alloc(8)
  head.writeInt16BE(1, 0)
  head.writeInt32BE(1, 2)
  head.writeInt16BE(name.length, 6)
  const sizes = Buffer.alloc(4)
  sizes.writeInt32BE(data.length, 0)
  return Buffer.concat([head, name, sizes, data, Buffer.alloc(4)])
}

function memberOf(model: Model): ModelMember {
  const { random } = model
  const known = model.members.filter(({ group }) => group === model.groups[0])
  if (known.length > 0 && (known.length >= 4 || random.chance(0.75))) return random.pick(known)
  const instanceId = random.chance(0.2) ? `i${random.below(3)}` : null
  const group = model.groups[0] as string
  const member = { key: `m${model.members.length}`, group, instanceId, hasId: false }
  model.members.push(member)
  return member
}

const idOf = (member: ModelMember) => new Learned(`id ${member.key}`, '')

function generationOf({ random }: Model, member: ModelMember): Learned {
  return new Learned(`generation ${member.key}`, -1, random.chance(0.93) ? 0 : random.pick([1, -1, 100]))
}

/** What identifies a member in a request; sometimes of another, or nobody's. */
function identity(model: Model, member: ModelMember): Body {
  const { random } = model
  const memberId = random.chance(0.94) ? idOf(member) : random.pick<unknown>(['', 'nobody', idOf(memberOf(model))])
  const groupInstanceId = random.chance(0.95) ? member.instanceId : random.pick([null, 'i0', 'i9'])
  const groupId = random.chance(0.97) ? member.group : model.group()
  return { memberId, groupInstanceId, groupId, generationId: generationOf(model, member) }
}

export function joinGroup(model: Model): Step[] {
  const { random } = model
  const member = memberOf(model)
  const version = model.version(JoinGroup)
  const step = join(model, member, version)
  // From version 4 on the first answer only gives the id with which to come again.
  const again = version >= 4 && !member.hasId && member.instanceId === null && random.chance(0.9)
  member.hasId = true
  return again ? [step, join(model, member, version)] : [step]
}

function join(model: Model, member: ModelMember, version: number): Step {
  const { random } = model
  const { groupId, memberId, groupInstanceId } = identity(model, member)
  const names = random.chance(0.9) ? ['range', 'sticky'] : random.pick([['sticky'], ['other'], []])
  const protocols = names.map((name) => ({
    name,
    metadata: subscription(`${model.prefix}t0`, `${member.key} ${name}`),
  }))
  const body = {
    groupId,
    memberId,
    groupInstanceId,
    sessionTimeoutMs: random.chance(0.95)
      ? 120_000
      : random.pick([0, -1, SESSION_MS_MIN - 1, 1_800_001, SESSION_MS_MIN]),
    rebalanceTimeoutMs: 120_000,
    protocolType: random.chance(0.96) ? 'consumer' : random.pick(['', 'connect']),
    protocols,
    reason: random.pick([null, 'because', '']),
  }
  return {
    api: JoinGroup,
    version,
    body,
    channel: member.key,
    waits: true,
    clientId: random.chance(0.95) ? 'differential' : random.pick(['other', '', null]),
    learn(answer, tell) {
      const code = answer['errorCode']
      if (code === 0 || code === 79) tell(`id ${member.key}`, answer['memberId'])
      if (code === 0) tell(`generation ${member.key}`, answer['generationId'])
      if (code === 0) tell(`protocol ${member.group}`, answer['protocolName'])
    },
  }
}

export function syncGroup(model: Model): Step[] {
  const { random } = model
  const member = memberOf(model)
  const peers = model.members.filter(({ group }) => group === member.group)
  const assignments = peers.map((peer) => ({ memberId: idOf(peer), assignment: Buffer.from(`for ${peer.key}`) }))
  const body = {
    ...identity(model, member),
    protocolType: random.chance(0.93) ? 'consumer' : random.pick([null, 'connect', '']),
    protocolName: random.chance(0.93) ? new Learned(`protocol ${member.group}`, 'range') : random.pick([null, 'other']),
    assignments: random.chance(0.9) ? assignments : [],
  }
  return [{ api: SyncGroup, version: model.version(SyncGroup), body, channel: member.key, waits: true }]
}

export function heartbeat(model: Model): Step[] {
  const body = identity(model, memberOf(model))
  return [{ api: Heartbeat, version: model.version(Heartbeat), body }]
}

export function leaveGroup(model: Model): Step[] {
  const { random } = model
  const members = Array.from({ length: random.pick([1, 1, 1, 2, 0]) }, () => {
    const member = memberOf(model)
    const { memberId, groupInstanceId } = identity(model, member)
    return { memberId, groupInstanceId, reason: random.pick([null, 'enough']) }
  })
  const { memberId, groupId } = identity(model, memberOf(model))
  return [{ api: LeaveGroup, version: model.version(LeaveGroup), body: { groupId, memberId, members } }]
}

/** All known members join, the first to be answered as leader hands out the work: the group stands. */
export function gather(model: Model): Step[] {
  const { random } = model
  const members = model.members.filter(({ group }) => group === model.groups[0])
  if (members.length === 0) return joinGroup(model)
  const version = model.version(JoinGroup)
  const joins = members.map((member) => join(model, member, version))
  const assignments = members.map((peer) => ({ memberId: idOf(peer), assignment: Buffer.from(`for ${peer.key}`) }))
  const syncs = members.map(
    (member): Step => ({
      api: SyncGroup,
      version: random.between(0, 5),
      body: {
        groupId: member.group,
        memberId: idOf(member),
        groupInstanceId: member.instanceId,
        generationId: new Learned(`generation ${member.key}`, -1),
        protocolType: 'consumer',
        protocolName: new Learned(`protocol ${member.group}`, 'range'),
        assignments,
      },
      channel: member.key,
      waits: true,
    }),
  )
  for (const member of members) member.hasId = true
  return [...joins, ...syncs]
}
