/** What Node itself, listeners, HTTP and files that are open for a moment may need. */
const OTHERS = 64
const LOG_FILES_MAX = 512
/** With fewer descriptors than this a node would refuse more than it serves. */
export const DESCRIPTORS_MIN = 128

export interface DescriptorShares {
  readonly logFilesMax: number
  readonly connectionsMax: number
}

/** Shares out the descriptors of the process, so that each is refused at a door that says why. `limit` null: not known. */
export function shareDescriptors(limit: number | null): DescriptorShares {
  if (limit === null) return { logFilesMax: LOG_FILES_MAX, connectionsMax: Number.POSITIVE_INFINITY }
  const logFilesMax = Math.min(LOG_FILES_MAX, Math.floor((limit - OTHERS) / 4))
  return { logFilesMax, connectionsMax: limit - OTHERS - logFilesMax }
}
