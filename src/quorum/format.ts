import type { Env } from '../env/env.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import { METADATA_TOPIC, partitionName } from '../model/ids.ts'
import type { Endpoint, Voter } from '../raft/types.ts'
import { writeSnapshot } from './snapshot-file.ts'
import { listSnapshots } from './snapshots.ts'

/** Level of kraft.version from which on voters can change (KIP-853). */
export const KRAFT_VERSION = 1

/** The metadata log's directory in a data folder. */
export function metadataFolder(dataFolder: string): string {
  return `${dataFolder}/${partitionName({ topic: METADATA_TOPIC, partition: 0 })}`
}

export function voterOf(nodeId: number, directoryId: string, endpoints: readonly Endpoint[]): Voter {
  return {
    voterId: nodeId,
    voterDirectoryId: directoryId,
    endpoints,
    kRaftVersionFeature: { minSupportedVersion: 0, maxSupportedVersion: KRAFT_VERSION },
  }
}

/**
 * Makes an empty metadata folder that of a new cluster with one voter: writes the snapshot of offset 0 and epoch 0, which
 * says who votes and at which feature levels the cluster starts, as `kafka-storage format --standalone` does. Does
 * nothing when there is a snapshot already: a crash may have come right after it.
 */
export async function formatMetadata(
  env: Env,
  folder: string,
  content: {
    readonly voter: Voter
    readonly bootstrapRecords: readonly MetadataRecord[]
    readonly metadataVersion: number
  },
): Promise<void> {
  await env.disk.makeDirectory(folder)
  if ((await listSnapshots(env, folder)).length > 0) return
  const wallMs = env.clock.wallMs()
  await writeSnapshot(
    env.disk,
    folder,
    {
      id: { offset: 0, epoch: 0 },
      lastContainedTimestampMs: wallMs,
      voterSet: { kraftVersion: KRAFT_VERSION, voters: [content.voter] },
      records: content.bootstrapRecords,
      metadataVersion: content.metadataVersion,
    },
    wallMs,
  )
}
