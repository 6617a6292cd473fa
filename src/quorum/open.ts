import { MalformedError } from '../base/bytes.ts'
import { Random } from '../base/random.ts'
import { brokerConfigs } from '../controller/config-defs.ts'
import type { BrokerContext } from '../controller/config-view.ts'
import { bootstrapRecords, METADATA_VERSION, unservedFeatures } from '../controller/features.ts'
import type { Env } from '../env/env.ts'
import type { Address } from '../env/net.ts'
import { METADATA_TOPIC, METADATA_TOPIC_ID, newIncarnationId, partitionName } from '../model/ids.ts'
import { type Endpoint, NO_DIRECTORY, type RaftOptions, type ReplicaKey } from '../raft/types.ts'
import type { Peers } from '../rpc/peers.ts'
import { defaultLogConfig, type LogConfig } from '../storage/config.ts'
import type { LogManager } from '../storage/log-manager.ts'
import type { PartitionLog } from '../storage/partition-log.ts'
import { formatMetadata, KRAFT_VERSION, metadataFolder, voterOf } from './format.ts'
import { MetadataLog } from './metadata-log.ts'
import { type LoadedMetadata, loadMetadata } from './metadata-load.ts'
import type { ImageListener } from './published.ts'
import { Quorum } from './quorum.ts'
import { readQuorumState } from './quorum-state.ts'
import { SnapshotStore } from './snapshot-store.ts'
import { listSnapshots, MetadataUnreadableError } from './snapshots.ts'

export interface OpenQuorumOptions {
  readonly logs: LogManager
  readonly dataFolder: string
  readonly broker: BrokerContext
  /** Has the role: may become a voter. Anyone else only follows. */
  readonly isController: boolean
  /** Name of the listener on which controllers are reached, the same on all nodes. */
  readonly listener: string
  /** Where this controller is reached; nowhere on a mere broker. */
  readonly endpoints: readonly Endpoint[]
  readonly peers: Peers
  /** Whom to ask who leads. With any, an empty folder does not become a cluster of its own. */
  readonly join: readonly Address[]
  /** A controller that follows and is level asks to become a voter, until it is one (KIP-853, KIP-1186). */
  readonly autoJoin: boolean
  /**
   * It asks only then: when its number is known to be nobody else's. Given, it also takes the place of a voter that had the
   * number on another disk.
   */
  readonly joinAfter?: Promise<unknown>
  /**
   * Snapshots are written, and the log before them let go of, only then: when this node has done all that the log told it in
   * earlier lives. Only the log tells which of the topics it does not know were deleted.
   */
  readonly snapshotsAfter?: Promise<unknown>
  /** `controller.quorum.voters`: who votes as long as the log does not say, in clusters of kraft.version 0. */
  readonly staticVoters?: readonly (Address & { readonly id: number })[]
  readonly onImage: ImageListener
  readonly onFailure: (error: Error) => void
  readonly onLeader?: (leaderId: number | null) => void
  readonly onActive?: () => void
}

/** Nothing is ever removed by age or size: only what a snapshot holds may go. */
const metadataLogConfig: LogConfig = {
  ...defaultLogConfig,
  cleanupPolicy: [],
  durabilityMode: 'fsync',
  reserveUse: 'all',
}

const topicPartition = { topic: METADATA_TOPIC, partition: 0 }
/** How long a leader may hold a fetch back. Kafka's. */
const FETCH_MAX_WAIT_MS = 500

/**
 * Opens the metadata of a node and takes part in its quorum. A data folder without any metadata becomes a new cluster's,
 * with this controller as its only voter, unless there is one to join; a folder that has partitions but no metadata is
 * refused, for a new cluster would not know them. Rejects with `MetadataUnreadableError`, or with what storage rejects with.
 */
export async function openQuorum(env: Env, options: OpenQuorumOptions): Promise<Quorum> {
  const {
    logs,
    dataFolder,
    broker,
    autoJoin,
    joinAfter = null,
    snapshotsAfter = null,
    onImage,
    onFailure,
    onLeader = () => {},
    onActive = () => {},
    peers,
  } = options
  const folder = metadataFolder(dataFolder)
  const config = { ...metadataLogConfig, segmentBytes: staticNumber(broker, 'metadata.log.segment.bytes') }
  const partitionLog = await logs.openLog(topicPartition, METADATA_TOPIC_ID, config)
  const self: ReplicaKey = { id: broker.brokerId, directoryId: logs.metaProperties.directoryId }
  await settleNewFolder(env, options, partitionLog, self)
  const loaded = await load(() => loadMetadata(env, folder, partitionLog), folder)
  refuseForeignVoter(loaded, self, folder, options.join.length > 0)
  refuseUnserved(loaded, dataFolder)
  const snapshots = await SnapshotStore.open(env, folder, loaded.snapshot?.id ?? null, partitionLog.logStartOffset)
  await snapshots.removeUnfinished()
  const log = new MetadataLog(env, partitionLog, snapshots)
  const state = await load(() => readQuorumState(env.disk, folder), folder)
  if (state === null && options.isController) refuseLostVote(partitionLog, folder)
  const raft = { ...raftOptions(env, options, loaded, self), state }
  const listeners = { onImage, onFailure, onLeader, onActive }
  const when = { autoJoin, joinAfter, snapshotsAfter }
  const quorum = new Quorum(env, { log, folder, loaded, peers, broker, raft, ...when, ...listeners })
  await quorum.start()
  return quorum
}

function raftOptions(
  env: Env,
  { logs, broker, isController, listener, endpoints, join, staticVoters = [] }: OpenQuorumOptions,
  { snapshot, quorumRecords }: LoadedMetadata,
  self: ReplicaKey,
): Omit<RaftOptions, 'log' | 'durableOffset' | 'nowMs' | 'state'> {
  const number = (key: string) => staticNumber(broker, key)
  return {
    clusterId: logs.metaProperties.clusterId,
    self,
    endpoints,
    kraftVersions: { minSupportedVersion: 0, maxSupportedVersion: KRAFT_VERSION },
    listener,
    bootstrap: join,
    canVote: isController,
    strangerId: newIncarnationId((length) => env.randomBytes(length)),
    hasMoved: broker.staticValues.get('controller.quorum.moved') === 'true',
    fetchBytesMax: number('controller.quorum.fetch.max.bytes'),
    snapshotBytesMax: number('controller.quorum.fetch.snapshot.max.bytes'),
    highWatermark: snapshot?.id.offset ?? 0,
    staticVoters: staticVoters.map(({ id, host, port }) => voterOf(id, NO_DIRECTORY, [{ name: listener, host, port }])),
    quorumRecords,
    random: new Random(env.randomBytes(4).readUInt32BE(0)),
    electionTimeoutMs: number('controller.quorum.election.timeout.ms'),
    fetchTimeoutMs: number('controller.quorum.fetch.timeout.ms'),
    requestTimeoutMs: number('controller.quorum.request.timeout.ms'),
    retryBackoffMs: number('controller.quorum.retry.backoff.ms'),
    electionBackoffMaxMs: number('controller.quorum.election.backoff.max.ms'),
    fetchMaxWaitMs: FETCH_MAX_WAIT_MS,
  }
}

/** The quorum's own settings cannot change while it runs. */
function staticNumber({ staticValues }: BrokerContext, key: string): number {
  const given = staticValues.get(`internal.${key}`) ?? staticValues.get(key)
  return Number(given ?? brokerConfigs.get(key)?.default)
}

/** What cannot be decoded was most likely written by a newer version: its CRC was right. */
async function load<T>(step: () => T | Promise<T>, folder: string): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    throw new MetadataUnreadableError(`The metadata in ${folder} cannot be read: ${error.message}`, { cause: error })
  }
}

/** A folder in which nothing is yet: a new cluster, or one to join. */
async function settleNewFolder(
  env: Env,
  { logs, dataFolder, broker, isController, endpoints, join, staticVoters = [] }: OpenQuorumOptions,
  log: PartitionLog,
  self: ReplicaKey,
): Promise<void> {
  const folder = metadataFolder(dataFolder)
  if (log.endOffset > 0 || (await listSnapshots(env, folder)).length > 0) return
  // Its cluster is elsewhere, or begins when a majority of them has met.
  if (join.length > 0 || staticVoters.length > 0) return
  refuseOrphans(logs, dataFolder)
  await refuseJoiner(env, folder, isController)
  await formatMetadata(env, folder, {
    voter: voterOf(self.id, self.directoryId, endpoints),
    bootstrapRecords: bootstrapRecords(broker.staticValues),
    metadataVersion: METADATA_VERSION,
  })
  env.log.info('A new cluster', { clusterId: logs.metaProperties.clusterId, nodeId: self.id })
}

/** It was to join a cluster and has nothing of it yet: made a cluster of its own it would never find the others. */
async function refuseJoiner(env: Env, folder: string, isController: boolean): Promise<void> {
  const state = await readQuorumState(env.disk, folder)
  if (state === null && isController) return
  throw new MetadataUnreadableError(
    state === null
      ? `${folder} holds no metadata, and a node without the role of a controller cannot begin a cluster. Say which one it is to join.`
      : `${folder} was begun to join a cluster and has nothing of it yet. Say again where that cluster is, or remove the folder.`,
  )
}

/**
 * A voter is its directory: the same number on another disk has not got what the old one promised (reliability I11). Where
 * nobody else votes, nobody could ever lead, or let this one in.
 */
function refuseForeignVoter(
  { quorumRecords }: LoadedMetadata,
  self: ReplicaKey,
  folder: string,
  hasJoined: boolean,
): void {
  const last = quorumRecords.findLast(({ record }) => record.type === 'KRaftVoters')?.record
  const voters = last?.type === 'KRaftVoters' ? last.value.voters : []
  const [only, ...others] = voters
  if (only === undefined || others.length > 0) return
  if (only.voterId === self.id ? only.voterDirectoryId === self.directoryId : hasJoined) return
  throw new MetadataUnreadableError(
    `The quorum in ${folder} is that of voter ${only.voterId} (directory ${only.voterDirectoryId}), ` +
      `but this is node ${self.id} with directory ${self.directoryId}.`,
  )
}

/** Before anything is changed. A cluster that comes to use them later stops this node then. */
function refuseUnserved({ snapshot, batches }: LoadedMetadata, dataFolder: string): void {
  const levels = new Map<string, number>()
  for (const { type, value } of [...(snapshot?.records ?? []), ...batches.flatMap(({ records }) => records)]) {
    if (type === 'FeatureLevel') levels.set(value.name, value.featureLevel)
  }
  const unserved = unservedFeatures(levels)
  if (unserved.length === 0) return
  throw new MetadataUnreadableError(
    `The cluster of ${dataFolder} uses features that this version does not serve: ${unserved.join(', ')}.`,
  )
}

/** It is written before the first record is: a voter that has records and no vote could give its vote a second time (reliability I10). */
function refuseLostVote(log: PartitionLog, folder: string): void {
  if (log.endOffset === 0) return
  throw new MetadataUnreadableError(
    `${folder} holds records and no quorum-state, which says for whom this node has voted. ` +
      'Restore that file, or start the node with an empty folder and --join.',
  )
}

function refuseOrphans(logs: LogManager, dataFolder: string): void {
  const orphans = logs.found.filter(({ topic }) => topic !== METADATA_TOPIC)
  if (orphans.length === 0) return
  const shown = orphans.slice(0, 3).map(partitionName).join(', ')
  throw new MetadataUnreadableError(
    `${dataFolder} holds ${orphans.length} partitions (${shown}${orphans.length > 3 ? ', …' : ''}) but no metadata that ` +
      'says what they are. Restore the folder of __cluster_metadata-0; without it a new cluster would not know them.',
  )
}
