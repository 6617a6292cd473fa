import type { MetadataImage } from '../metadata/image.ts'

/** Eligible leader replicas (KIP-966). */
export const ELR_FEATURE = 'eligible.leader.replicas.version'

/**
 * Not a feature of the cluster but a mark in the registration of a broker: in fsync topics it acknowledges, and reports to
 * leaders, only what is on its disk. Brokers without it count their page cache.
 */
export const DURABILITY_FEATURE = 'millrace.durability.version'

/** Eligible leader replicas are kept. */
export function isElrOn(image: MetadataImage): boolean {
  return (image.features.get(ELR_FEATURE) ?? 0) > 0
}
