import { type BrokerContext, brokerConfig, brokerNumber } from '../controller/config-view.ts'
import type { MetadataImage } from '../metadata/image.ts'
import type { CleanerLimits } from '../storage/cleaner/cleaner.ts'
import type { ScrubLimits } from '../storage/scrubber.ts'
import type { StrayLimits } from '../storage/stray-directories.ts'

/** What the cleaner of this node may take; null: it is switched off. */
export function cleanerLimitsOf(image: MetadataImage, broker: BrokerContext): CleanerLimits | null {
  if (brokerConfig(image, broker, 'log.cleaner.enable') === 'false') return null
  const number = (key: string) => brokerNumber(image, broker, key)
  return {
    mapBytesMax: number('log.cleaner.dedupe.buffer.size'),
    bytesPerSecondMax: number('log.cleaner.io.max.bytes.per.second'),
    backoffMs: number('log.cleaner.backoff.ms'),
  }
}

/** How long, and how much, of what was set aside is kept. */
export function strayLimitsOf(image: MetadataImage, broker: BrokerContext): StrayLimits {
  const number = (key: string) => brokerNumber(image, broker, key)
  return { retentionMs: number('log.stray.retention.ms'), bytesMax: number('log.stray.retention.bytes') }
}

/** What looking through the logs of this node may take; null: it is switched off. */
export function scrubLimitsOf(image: MetadataImage, broker: BrokerContext): ScrubLimits | null {
  const bytesPerSecond = brokerNumber(image, broker, 'log.scrub.bytes.per.second')
  if (bytesPerSecond === 0) return null
  return { bytesPerSecond, intervalMs: brokerNumber(image, broker, 'log.scrub.interval.ms') }
}
