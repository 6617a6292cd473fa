/**
 * The partition of a coordinator's topic that keeps the state of `key` (a group id, a transactional id): Java's
 * `String.hashCode`, made positive as Kafka does, modulo. Every client and broker must come to the same number.
 */
export function partitionForKey(key: string, partitionCount: number): number {
  let hash = 0
  for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0
  // The absolute value of -2^31 does not fit an int32; Kafka takes 0 for it.
  const positive = hash === -0x80000000 ? 0 : Math.abs(hash)
  return positive % partitionCount
}
