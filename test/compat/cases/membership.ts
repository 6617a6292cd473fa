import assert from 'node:assert/strict'
import { until } from '../../support/process.ts'
import { commitOffset, committedOffset, findCoordinator, WireError } from '../../support/wire-calls.ts'
import type { Wire } from '../../support/wire.ts'
import type { Adapter } from '../adapter.ts'
import type { Context } from '../context.ts'
import type { RecordIn, RecordOut, Subscription, TopicPartitionName } from '../protocol.ts'

/** A member that lives must not be missed because the machine is slow; those that leave say so. */
const sessionTimeoutMs = 10_000

/** The servers are told to allow it; a member that was killed is missed after this long. */
export const shortSessionTimeoutMs = 3000

export type MemberOptions = Partial<Subscription> & { readonly group: string; readonly topics: string[] }

/** One process that is a member of a group, and what it has read. */
export class Member {
  readonly adapter: Adapter
  readonly read: RecordOut[] = []
  assignment: readonly TopicPartitionName[] = []

  constructor(adapter: Adapter) {
    this.adapter = adapter
  }

  static async join(context: Context, how: MemberOptions) {
    const member = new Member(await context.member())
    const usual = { reset: 'earliest', protocol: 'classic', sessionTimeoutMs } as const
    await member.adapter.ask('subscribe', { ...usual, ...how })
    return member
  }

  async poll(forMs = 250): Promise<void> {
    const { records, assignment } = await this.adapter.ask('poll', { forMs, max: 100 })
    this.read.push(...records)
    this.assignment = assignment
  }

  get partitions(): number[] {
    return this.assignment.map(({ partition }) => partition).sort((a, b) => a - b)
  }

  commit(): Promise<object> {
    return this.adapter.ask('commit', {})
  }

  close(): Promise<object> {
    return this.adapter.ask('close', {})
  }
}

/** All members poll side by side until it holds. */
export async function pollUntil(
  what: string,
  members: readonly Member[],
  holds: () => boolean,
  timeoutMs = 40_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!holds()) {
    if (performance.now() > deadline)
      throw new Error(`not within ${timeoutMs} ms: ${what}; ${members.map(told).join('; ')}`)
    await Promise.all(members.map((member) => member.poll()))
  }
}

function told({ partitions, read }: Member): string {
  return `partitions ${partitions.join(',') || 'none'}, ${read.length} records`
}

/** Each partition belongs to exactly one of the members, and nobody has more than one partition more than another. */
export function isShared(members: readonly Member[], partitions: number): boolean {
  const owned = members.flatMap((member) => member.partitions)
  const sizes = members.map((member) => member.partitions.length)
  return (
    owned.length === partitions && new Set(owned).size === partitions && Math.max(...sizes) - Math.min(...sizes) <= 1
  )
}

export function hasRead(members: readonly Member[], sent: readonly RecordIn[]): boolean {
  const keys = new Set(members.flatMap(({ read }) => read.map(({ key }) => key)))
  return sent.every(({ key }) => keys.has(key))
}

/** As `hasRead`, and each record by the member whose partition it is now: only that one commits it. */
export function ownersHaveRead(members: readonly Member[], sent: readonly RecordIn[]): boolean {
  const owned = members.flatMap(({ read, partitions }) =>
    read.filter(({ partition }) => partitions.includes(partition)),
  )
  const keys = new Set(owned.map(({ key }) => key))
  return sent.every(({ key }) => keys.has(key))
}

/** Offsets of each partition came in order, without a hole, with this member. */
export function assertInOrder({ read }: Member): void {
  const next = new Map<number, number>()
  for (const { partition, offset } of read) {
    const due = next.get(partition)
    // After a rebalance a partition may be read again from what was committed.
    if (due !== undefined) assert.ok(offset <= due, `partition ${partition}: ${offset} where ${due} was due`)
    next.set(partition, offset + 1)
  }
}

export async function produceTo(context: Context, topic: string, records: readonly RecordIn[]): Promise<void> {
  const adapter = await context.adapter()
  const { records: produced } = await adapter.ask('produce', {
    topic,
    records,
    codec: 'none',
    acks: 'all',
    idempotent: false,
  })
  for (const { error } of produced) assert.equal(error, null)
}

/** Coordinators that are not there yet, or still read what they know. */
const passing = [14, 15, 16]

/** Commits for a group without members, without the client; the first who asks for its coordinator has the topic of offsets made. */
export async function commitFor(context: Context, what: Parameters<typeof commitOffset>[1]): Promise<void> {
  const attempt = async (wire: Wire): Promise<true | null> => {
    try {
      await findCoordinator(wire, what.group)
      await commitOffset(wire, what)
      return true
    } catch (error) {
      if (error instanceof WireError && passing.includes(error.code)) return null
      throw error
    }
  }
  await context.wire((wire) => until('an offset is committed', () => attempt(wire), { timeoutMs: 20_000 }))
}

/** Committed offsets as the server tells them, asked without the client. */
export async function committedBy(context: Context, group: string, topic: string, partitions: number) {
  return context.wire(async (wire) => {
    const offsets: number[] = []
    for (let partition = 0; partition < partitions; partition++) {
      offsets.push(await committedOffset(wire, { group, topic, partition }))
    }
    return offsets
  })
}
