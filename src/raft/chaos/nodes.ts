import { AddRaftVoter } from '../../protocol/apis/add-raft-voter.ts'
import { BeginQuorumEpoch } from '../../protocol/apis/begin-quorum-epoch.ts'
import { EndQuorumEpoch } from '../../protocol/apis/end-quorum-epoch.ts'
import { FetchSnapshot } from '../../protocol/apis/fetch-snapshot.ts'
import { Fetch } from '../../protocol/apis/fetch.ts'
import { RemoveRaftVoter } from '../../protocol/apis/remove-raft-voter.ts'
import { UpdateRaftVoter } from '../../protocol/apis/update-raft-voter.ts'
import { Vote } from '../../protocol/apis/vote.ts'
import type { Random } from '../../base/random.ts'
import type { Raft } from '../raft.ts'
import type { InboundRequest, QuorumState, ReplicaKey, Voter } from '../types.ts'
import type { ModelLog } from './model-log.ts'

export const TIMEOUTS = {
  electionTimeoutMs: 1000,
  fetchTimeoutMs: 2000,
  requestTimeoutMs: 2000,
  // More than in real life: or most of what happens is nodes that ask around for a leader.
  retryBackoffMs: 100,
  electionBackoffMaxMs: 1000,
  fetchMaxWaitMs: 500,
}

export function directoryOf(id: number, generation = 0): string {
  return `${`dir-${id}-${generation}`.padEnd(21, '_')}A`
}

export function endpointOf(id: number) {
  return { name: 'CONTROLLER', host: `node${id}`, port: 9093 }
}

export function voterOf(key: ReplicaKey): Voter {
  return {
    voterId: key.id,
    voterDirectoryId: key.directoryId,
    endpoints: [endpointOf(key.id)],
    kRaftVersionFeature: { minSupportedVersion: 0, maxSupportedVersion: 1 },
  }
}

/** The newest version of each API, in which all of this is asked. */
const VERSIONS = {
  Vote: Vote.versions[1],
  BeginQuorumEpoch: BeginQuorumEpoch.versions[1],
  EndQuorumEpoch: EndQuorumEpoch.versions[1],
  Fetch: Fetch.versions[1],
  FetchSnapshot: FetchSnapshot.versions[1],
  AddRaftVoter: AddRaftVoter.versions[1],
  RemoveRaftVoter: RemoveRaftVoter.versions[1],
  UpdateRaftVoter: UpdateRaftVoter.versions[1],
}

export function versionOf({ api }: InboundRequest): number {
  return VERSIONS[api]
}

/** One node with its disk. `raft` is null while it is down. */
export interface ChaosNode {
  key: ReplicaKey
  state: QuorumState | null
  log: ModelLog
  raft: Raft | null
  incarnation: number
  highWatermark: number
  /** Set while it believes to lead. */
  leadsEpoch: number | null
  isStopping: boolean
  /** Where it listens: another one after some restarts. */
  port: number
}

/** Which faults happen in a run; each is off in half of the runs (swarm testing). */
export interface Faults {
  readonly loss: number
  readonly duplication: number
  readonly crashes: number
  /** Within the effects of one step. */
  readonly crashesInside: number
  readonly partitions: number
  readonly slowFlush: boolean
  readonly snapshots: number
  readonly voterChanges: number
  /** Leaders that hand over, nodes that are told to stop. */
  readonly farewells: number
  readonly wipes: boolean
  /** How often time jumps to the next deadline although messages are on their way. */
  readonly haste: number
}

/** What goes wrong in one run. */
export function drawFaults(random: Random, options: { readonly voters: number; readonly nodes: number }): Faults {
  const isOn = (value: number) => (random.chance(0.5) ? value * (0.2 + random.float()) : 0)
  const voterChanges = options.nodes > 1 ? isOn(0.06) : 0
  return {
    loss: isOn(0.1),
    duplication: isOn(0.1),
    crashes: isOn(0.02),
    crashesInside: isOn(0.01),
    partitions: isOn(0.01),
    slowFlush: random.chance(0.5),
    snapshots: isOn(0.02),
    voterChanges,
    farewells: isOn(0.01),
    haste: isOn(0.03),
    wipes: voterChanges === 0 && options.voters >= 3 && random.chance(0.5),
  }
}
