import type { BrokerContext } from '../controller/config-view.ts'
import { bootstrapRecords, METADATA_VERSION } from '../controller/features.ts'
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
  /** Of the log, in bytes; Kafka's default when left out. */
  readonly segmentBytes?: number
  readonly onImage: ImageListener
  readonly onFailure: (error: Error) => void
}

/** Nothing is ever removed by age or size: only what a snapshot holds may go. */
const metadataLogConfig: LogConfig = { ...defaultLogConfig, cleanupPolicy: [], durabilityMode: 'fsync' }

const topicPartition = { topic: METADATA_TOPIC, partition: 0 }

/**
 * Opens the metadata of a node that is its own quorum, and leads it. A data folder without any metadata becomes a new
 * cluster's; one that has partitions but no metadata is refused, for a new cluster would not know them. Rejects with
 * `MetadataUnreadableError`, `MalformedError`, or what storage rejects with.
 */
export async function openMetadata(env: Env, options: OpenMetadataOptions): Promise<MetadataController> {
  const { logs, dataFolder, broker, endpoints, onImage, onFailure } = options
  const { clusterId, directoryId } = logs.metaProperties
  const folder = metadataFolder(dataFolder)
  const voter = voterOf(broker.brokerId, directoryId, endpoints)
  const log = await logs.openLog(topicPartition, METADATA_TOPIC_ID, {
    ...metadataLogConfig,
    ...(options.segmentBytes === undefined ? {} : { segmentBytes: options.segmentBytes }),
  })
  if (log.endOffset === 0 && (await listSnapshots(env, folder)).length === 0) {
    refuseOrphans(logs, dataFolder)
    await formatMetadata(env, folder, {
      voter,
      bootstrapRecords: bootstrapRecords(),
      metadataVersion: METADATA_VERSION,
    })
    env.log.info('A new cluster', { clusterId, nodeId: broker.brokerId })
  }
  const quorumLog = await QuorumLog.open(env, { voter, log, folder })
  const controller = new MetadataController(env, quorumLog, { clusterId, broker, onImage, onFailure })
  await controller.start()
  return controller
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
