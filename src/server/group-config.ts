import { type BrokerContext, brokerNumber } from '../controller/config-view.ts'
import { DEFAULT_GROUP_CONFIG, type GroupConfig } from '../group/types.ts'
import type { MetadataImage } from '../metadata/image.ts'

/** The group coordinator's part of the broker configuration. */
export function groupConfigOf(image: MetadataImage, broker: BrokerContext): GroupConfig {
  const number = (key: string) => brokerNumber(image, broker, key)
  return {
    ...DEFAULT_GROUP_CONFIG,
    minSessionTimeoutMs: number('group.min.session.timeout.ms'),
    maxSessionTimeoutMs: number('group.max.session.timeout.ms'),
    initialRebalanceDelayMs: number('group.initial.rebalance.delay.ms'),
    groupSizeMax: number('group.max.size'),
    offsetMetadataBytesMax: number('offset.metadata.max.bytes'),
    offsetRetentionMs: number('offsets.retention.minutes') * 60_000,
    expiryIntervalMs: number('offsets.retention.check.interval.ms'),
  }
}
