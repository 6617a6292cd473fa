/** What is asked of a disk, as the implementation that decides about its time and its failures sees it. */
export interface DiskWork<T> {
  readonly kind: DiskOperation
  readonly path: string
  /** How many bytes it moves. */
  readonly bytes: number
  /** Of its content, for the trace. */
  readonly digest: number
  /** Does it, at the moment when it takes effect. Throws `DiskError`. */
  readonly effect: () => T
  /** Does a part of it: the process was killed, or the device failed, in the middle. `share` is in [0, 1). */
  readonly partly?: (share: number) => void
  /** A sync that failed: what it covered is forgotten by the kernel. */
  readonly forget?: () => void
}

export type DiskOperation =
  | 'open'
  | 'read'
  | 'write'
  | 'sync'
  | 'truncate'
  | 'name'
  | 'remove'
  | 'syncDirectory'
  | 'stat'
  | 'lock'

/** When work takes effect, and whether it does. */
export interface DiskWorker {
  perform<T>(work: DiskWork<T>): Promise<T>
  /** Wants `digest`, which costs a pass over the bytes. */
  readonly traced: boolean
  /** Files this process may hold open. */
  readonly openFilesMax: number
}

/** Everything at once and nothing fails: the disk of the embedded broker. */
export const immediateWorker: DiskWorker = {
  traced: false,
  openFilesMax: Number.POSITIVE_INFINITY,
  // An async function, so that a failure is a rejection.
  async perform({ effect }) {
    return effect()
  },
}
