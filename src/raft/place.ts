import { ErrorCode } from '../protocol/errors.ts'
import { PLACE_ID } from './connections.ts'
import type { Core } from './core.ts'
import { voteRequest } from './messages.ts'
import type { Destination, Endpoint } from './types.ts'

/**
 * A copied data folder is the same replica to everybody: number and directory id are copied with it, and so are epoch and
 * vote. What a copy cannot have is the address, for the voter set says where the original is reached. So a voter that is
 * started elsewhere than there has either moved, or is a copy whose original may be alive. Until that is settled it takes
 * no part: it does not vote or stand, and fetches as a stranger, so that the leader counts nothing on it. The leader, which
 * hears the original while it lives, decides (UpdateRaftVoter); what it decided is in force here once it is committed.
 */

/** Somebody must be there for so many fetch timeouts: a process that stops may live a little longer. */
const OCCUPIED_TIMEOUTS = 3

/** Where the voter sets that may be in force say that this voter is, if that is elsewhere; else null. */
export function listedElsewhere(core: Core): Endpoint | null {
  const { options, history, self } = core
  const isSure = !options.canVote || options.hasMoved === true || core.isReached || history.kraftVersion === 0
  if (isSure) return null
  const own = endpointOn(core, options.endpoints)
  for (const set of history.openSets(core.highWatermark)) {
    // Where nobody else votes nobody could be misled, nor asked.
    const listed = set.size > 1 && set.has(self) ? endpointOn(core, set.endpointsOf(self.id)) : null
    if (listed !== null && (listed.host !== own?.host || listed.port !== own.port)) return listed
  }
  return null
}

function endpointOn(core: Core, endpoints: readonly Endpoint[]): Endpoint | null {
  return endpoints.find(({ name }) => name === core.options.listener) ?? null
}

/** Asks at the listed place whether the voter is there, in a question that binds nobody and that nobody says yes to (KIP-996). */
export function probePlace(core: Core): void {
  const listed = core.elsewhere
  if (listed === null || core.isShuttingDown || core.nowMs < core.probeAgainMs) return
  core.probeAgainMs = core.nowMs + core.options.electionTimeoutMs
  const to: Destination = { nodeId: PLACE_ID, host: listed.host, port: listed.port }
  const { clusterId } = core.options
  const { epoch, self, fetchKey: candidate } = core
  const body = voteRequest({ clusterId, epoch, candidate, voter: self, log: { offset: 0, epoch: 0 }, preVote: true })
  core.send(to, { api: 'Vote', body })
}

export function isPlace({ nodeId }: Destination): boolean {
  return nodeId === PLACE_ID
}

/** Whether a question is our own: what is listed is another name of where we are. */
export function isOwnProbe(core: Core, directoryId: string): boolean {
  return core.elsewhere !== null && directoryId === core.options.strangerId
}

/** The voter at the listed place answered as this one; null: nobody did. */
export function onPlaceAnswered(core: Core, errorCode: number | null): void {
  if (core.elsewhere === null) return
  if (errorCode === ErrorCode.NONE) onOccupied(core)
  else core.occupiedSinceMs = null
}

/** Who this process takes itself for is alive elsewhere: at its place, or heard by the leader. */
export function onOccupied(core: Core): void {
  const { elsewhere: listed, nowMs } = core
  if (listed === null) return
  core.occupiedSinceMs ??= nowMs
  if (nowMs - core.occupiedSinceMs < core.options.fetchTimeoutMs * OCCUPIED_TIMEOUTS || core.isDisplaced) return
  core.isDisplaced = true
  core.effect({ type: 'displaced', by: listed })
}
