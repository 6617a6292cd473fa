import { MalformedError } from '../base/bytes.ts'
import { brokerConfigs } from '../controller/config-defs.ts'
import type { BrokerContext } from '../controller/config-view.ts'
import { bootstrapRecords, METADATA_VERSION, unservedFeatures } from '../controller/features.ts'
import type { Env } from '../env/env.ts'
import { METADATA_TOPIC, METADATA_TOPIC_ID, partitionName } from '../model/ids.ts'
import { defaultLogConfig, type LogConfig } from '../storage/config.ts'
import type { LogManager } from '../storage/log-manager.ts'
import { type ControllerEndpoint, formatMetadata, metadataFolder, voterOf } from './format.ts'
import { MetadataController } from './metadata-controller.ts'
import type { ImageListener } from './published.ts'
import { QuorumLog } from './quorum-log.ts'
import { listSnapshots, MetadataUnreadableError } from './snapshots.ts'

export interface OpenMetadataOptions {
  readonly logs: LogManager
  readonly dataFolder: string
  readonly broker: BrokerContext
  /** Where other controllers would reach this one. */
  readonly endpoints: readonly ControllerEndpoint[]
  readonly onImage: ImageListener
  readonly onFailure: (error: Error) => void
}

/** Nothing is ever removed by age or size: only what a snapshot holds may go. */
const metadataLogConfig: LogConfig = {
  ...defaultLogConfig,
  cleanupPolicy: [],
  durabilityMode: 'fsync',
  reserveUse: 'all',
}

const topicPartition = { topic: METADATA_TOPIC, partition: 0 }

/**
 * Opens the metadata of a node that is its own quorum, and leads it. A data folder without any metadata becomes a new
 * cluster's; one that has partitions but no metadata is refused, for a new cluster would not know them. Rejects with
 * `MetadataUnreadableError`, or with what storage rejects with.
 */
export async function openMetadata(env: Env, options: OpenMetadataOptions): Promise<MetadataController> {
  const { logs, dataFolder, broker, endpoints, onImage, onFailure } = options
  const { clusterId, directoryId } = logs.metaProperties
  const folder = metadataFolder(dataFolder)
  const voter = voterOf(broker.brokerId, directoryId, endpoints)
  const segmentBytes = segmentBytesOf(broker)
  const log = await logs.openLog(topicPartition, METADATA_TOPIC_ID, { ...metadataLogConfig, segmentBytes })
  if (log.endOffset === 0 && (await listSnapshots(env, folder)).length === 0) {
    refuseOrphans(logs, dataFolder)
    await formatMetadata(env, folder, {
      voter,
      bootstrapRecords: bootstrapRecords(),
      metadataVersion: METADATA_VERSION,
    })
    env.log.info('A new cluster', { clusterId, nodeId: broker.brokerId })
  }
  const quorumLog = await load(() => QuorumLog.open(env, { voter, log, folder }), folder)
  const image = await load(() => quorumLog.loadedImage(), folder)
  const unserved = unservedFeatures(image)
  if (unserved.length > 0) {
    throw new MetadataUnreadableError(
      `The cluster of ${dataFolder} uses features that this version does not serve: ${unserved.join(', ')}.`,
    )
  }
  const controller = new MetadataController(env, quorumLog, { clusterId, broker, onImage, onFailure })
  await controller.start(image)
  return controller
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

function segmentBytesOf({ staticValues }: BrokerContext): number {
  const given =
    staticValues.get('internal.metadata.log.segment.bytes') ?? staticValues.get('metadata.log.segment.bytes')
  return Number(given ?? brokerConfigs.get('metadata.log.segment.bytes')?.default)
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
