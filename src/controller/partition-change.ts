import type { PartitionImage } from '../metadata/image.ts'
import { NO_LEADER, type PartitionChangeRecord } from '../metadata/records.ts'
import { minInsync } from '../model/min-insync.ts'

/** What one partition is to become. What is not named stays as it is. */
export interface PartitionTarget {
  readonly replicas?: readonly number[]
  readonly adding?: readonly number[]
  readonly removing?: readonly number[]
  readonly isr?: readonly number[]
  /** These may miss committed records, whatever they were: they are not eligible any more. */
  readonly lost?: readonly number[]
  /** Its disk is another, empty one: not even as the last leader may it lead again. */
  readonly emptied?: number
  /** A replica begins anew: what it fetched until now, and asked for last, must not be taken for what it holds then. */
  readonly beginsEpoch?: boolean
  readonly leaderRecoveryState?: number
  /** By broker; where a replica lies that did not lie there before. */
  readonly directories?: ReadonlyMap<number, string>
  /** `any`: only where the leader cannot stay. `preferred`: the first replica, if it can. */
  readonly election?: 'any' | 'preferred' | 'unclean'
}

/** What holds for every partition of a topic while one decision is made. */
export interface TopicRules {
  /** Alive, not about to stop, and with that log directory. */
  readonly mayLead: (brokerId: number, directory: string | undefined) => boolean
  /** Its disk takes records of the topic. */
  readonly hasRoom: (brokerId: number) => boolean
  /** Where a new replica will lie. */
  readonly directoryFor: (brokerId: number) => string
  /** Whether members that leave an ISR below min.insync may be remembered as eligible (KIP-966). */
  readonly elr: boolean
  /** Null where nobody set it. */
  readonly minInsyncReplicas: number | null
  /** The topic would rather lose records than stand still. */
  readonly unclean: boolean
  /** Acknowledged records may be lost with a page cache, so the last leader is as good as any copy can be. */
  readonly relaxed: boolean
}

/** How a new leader was found. `last-leader` and `unclean` may have lost what was acknowledged. */
export type Election = 'in-sync' | 'eligible' | 'last-leader' | 'unclean'

export interface Change {
  readonly fields: Partial<PartitionChangeRecord>
  /** Null when the leader stays, or there is none. */
  readonly election: Election | null
}

interface Membership {
  readonly replicas: readonly number[]
  readonly adding: readonly number[]
  readonly removing: readonly number[]
  readonly isr: readonly number[]
}

/**
 * The one change of a partition that brings it to `target`: a reassignment that has all it waited for is completed,
 * replicas that leave a small ISR stay eligible, and a leader is elected where there is none or the present one cannot
 * stay. Replicas on full disks are in sync only where all are. Null when nothing changes. The order of the steps is Kafka's (PartitionChangeBuilder).
 *
 * Invariants: a leader comes from the ISR, else from the eligible replicas, else from nowhere unless the topic allows more
 * (I8); who is eligible holds everything that was committed, because a leader commits nothing below min.insync.
 */
export function changeOf(partition: PartitionImage, target: PartitionTarget, rules: TopicRules): Change | null {
  const members = membersAfter(partition, target, rules)
  const { replicas, adding, removing } = members
  const needed = minInsync(rules.minInsyncReplicas, replicas.length - adding.length)
  const elr = eligibleAfter(partition, members, { lost: target.lost ?? [], needed, keeps: rules.elr })
  const directories = directoriesAfter(partition, replicas, target, rules)
  const found = elect({ partition, members, elr, directories, election: target.election ?? 'any', rules })
  const after = installed(found, members.isr, elr, rules.elr && needed > 1)
  // Without eligible replicas to fall back on, the last one in sync is kept in mind by leaving it there.
  const isr = after.isr.length === 0 && !rules.elr && elr.length === 0 ? partition.isr : after.isr
  const fields: Writable<Partial<PartitionChangeRecord>> = {}
  if (found.leader !== partition.leader) fields.leader = found.leader
  // The leader must stop waiting for those that are gone, and they must not be taken for followers of this epoch.
  else if (!partition.replicas.every((id) => replicas.includes(id))) fields.leader = found.leader
  else if (target.beginsEpoch === true && found.leader !== NO_LEADER) fields.leader = found.leader
  if (!sameList(isr, partition.isr)) fields.isr = isr
  if (!sameList(after.elr, partition.elr)) fields.eligibleLeaderReplicas = after.elr
  const lastLeader = lastLeaderAfter(partition, fields.leader, rules).filter((id) => id !== target.emptied)
  if (!sameList(lastLeader, partition.lastKnownElr)) fields.lastKnownElr = lastLeader
  if (!sameList(replicas, partition.replicas)) fields.replicas = replicas
  if (!sameList(adding, partition.addingReplicas)) fields.addingReplicas = adding
  if (!sameList(removing, partition.removingReplicas)) fields.removingReplicas = removing
  if (!sameList(directories, partition.directories)) fields.directories = directories
  const recovery = mayHaveLost(found.election) ? 1 : (target.leaderRecoveryState ?? partition.leaderRecoveryState)
  if (recovery !== partition.leaderRecoveryState) fields.leaderRecoveryState = recovery
  if (Object.keys(fields).length === 0) return null
  return { fields, election: found.leader === partition.leader ? null : found.election }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

export function mayHaveLost(election: Election | null): boolean {
  return election === 'unclean' || election === 'last-leader'
}

/** As asked for; a reassignment whose new replicas are all in sync is completed: the old ones go (KIP-455). */
function membersAfter(partition: PartitionImage, target: PartitionTarget, rules: TopicRules): Membership {
  const replicas = target.replicas ?? partition.replicas
  const adding = target.adding ?? partition.addingReplicas
  const removing = target.removing ?? partition.removingReplicas
  const isr = withRoom(target.isr ?? partition.isr, partition, rules)
  if (adding.length === 0 && removing.length === 0) return { replicas, adding, removing, isr }
  const staying = replicas.filter((id) => !removing.includes(id))
  const stayingIsr = isr.filter((id) => !removing.includes(id))
  const isComplete = staying.length > 0 && stayingIsr.length > 0 && staying.every((id) => stayingIsr.includes(id))
  return isComplete
    ? { replicas: staying, adding: [], removing: [], isr: stayingIsr }
    : { replicas, adding, removing, isr }
}

/**
 * A full disk takes no more records: its replica would hold up every acknowledgement, and as the leader refuse every
 * record. So it goes, unless nobody else could lead.
 */
function withRoom(isr: readonly number[], { replicas, directories }: PartitionImage, rules: TopicRules) {
  if (isr.every(rules.hasRoom)) return isr
  const canGoOn = isr.some((id) => rules.hasRoom(id) && rules.mayLead(id, directories[replicas.indexOf(id)]))
  return canGoOn ? isr.filter(rules.hasRoom) : isr
}

/** Who is out of the ISR and yet holds all that was committed. */
function eligibleAfter(
  partition: PartitionImage,
  { replicas, isr }: Membership,
  { lost, needed, keeps }: { readonly lost: readonly number[]; readonly needed: number; readonly keeps: boolean },
): readonly number[] {
  if (isr.length >= needed) return NONE
  // Below min.insync nothing is committed until they are back, or the rest of the ISR has taken their place.
  const candidate = (id: number) => partition.elr.includes(id) || (keeps && partition.isr.includes(id))
  if (!keeps && isr.length > 0) return NONE
  return replicas.filter((id) => candidate(id) && !isr.includes(id) && !lost.includes(id))
}

interface ElectionInput {
  readonly partition: PartitionImage
  readonly members: Membership
  readonly elr: readonly number[]
  readonly directories: readonly string[]
  readonly election: NonNullable<PartitionTarget['election']>
  readonly rules: TopicRules
}

interface Found {
  readonly leader: number
  readonly election: Election | null
}

function elect({ partition, members, elr, directories, election, rules }: ElectionInput): Found {
  const { replicas, isr } = members
  const mayLead = (id: number) => {
    const at = replicas.indexOf(id)
    return at >= 0 && rules.mayLead(id, directories[at])
  }
  const isValid = (id: number) => (isr.length > 0 ? isr : elr).includes(id) && mayLead(id)
  const how = isr.length > 0 ? 'in-sync' : 'eligible'
  const inOrder = election === 'preferred' ? [replicas[0] as number, partition.leader] : [partition.leader]
  const candidates = [...inOrder, ...replicas].filter(isValid)
  const leader = candidates.find(rules.hasRoom) ?? candidates[0]
  if (leader !== undefined) return { leader, election: how }
  const allowed = rules.unclean || election === 'unclean'
  const last = lastLeaderOf(partition)
  if (isr.length === 0 && elr.length === 0 && last !== null && mayLead(last)) {
    // A single copy is the partition, whatever it has lost.
    if (allowed || rules.relaxed || replicas.length === 1) return { leader: last, election: 'last-leader' }
  }
  const any = allowed ? replicas.find(mayLead) : undefined
  return any === undefined ? { leader: NO_LEADER, election: null } : { leader: any, election: 'unclean' }
}

function lastLeaderOf({ lastKnownElr }: PartitionImage): number | null {
  return lastKnownElr.length === 1 ? (lastKnownElr[0] as number) : null
}

/** A leader from outside of the ISR is the whole ISR. Where it commits alone, nobody is eligible beside it. */
function installed({ leader, election }: Found, isr: readonly number[], elr: readonly number[], keepsRest: boolean) {
  if (election === 'eligible') return { isr: [leader], elr: keepsRest ? elr.filter((id) => id !== leader) : NONE }
  if (mayHaveLost(election)) return { isr: [leader], elr: NONE }
  return { isr, elr }
}

/** Kafka keeps the last leader of a partition without one in this field, and so do we. */
function lastLeaderAfter(
  { leader, lastKnownElr }: PartitionImage,
  elected: number | undefined,
  { elr }: TopicRules,
): readonly number[] {
  if (elected === NO_LEADER && leader >= 0 && elr && lastKnownElr.length === 0) return [leader]
  return elected !== undefined && elected >= 0 ? NONE : lastKnownElr
}

function directoriesAfter(
  partition: PartitionImage,
  replicas: readonly number[],
  target: PartitionTarget,
  rules: TopicRules,
): readonly string[] {
  if (target.directories === undefined && sameList(replicas, partition.replicas)) return partition.directories
  return replicas.map((id) => {
    const old = partition.directories[partition.replicas.indexOf(id)]
    return target.directories?.get(id) ?? old ?? rules.directoryFor(id)
  })
}

const NONE: readonly never[] = []

function sameList<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((each, i) => each === b[i])
}
