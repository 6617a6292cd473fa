import type { ServedApi } from './dispatch/served-api.ts'

export interface NodeOptions {
  readonly version: string
  /** The name of this machine, told to other nodes where a listener binds every interface and nothing is advertised. */
  readonly hostName: string
  /** A bug showed itself: nothing in memory can be trusted any more. The process should end. */
  onBug(error: unknown): void
  /** How many files and sockets this process may open; null or left out: not known. */
  readonly descriptorLimit?: number | null
  /** How much memory this process may use; null or left out: not known. */
  readonly memoryLimitBytes?: number | null
  /** Puts something before the handlers of clients' requests: a test of an application may want one to fail. */
  readonly around?: (apis: readonly ServedApi[]) => readonly ServedApi[]
  /** Level of the node's log, by Kafka's names. */
  readonly logLevel?: { get(): string; set(level: string): void }
}

/** `stop` was called before the node served. */
export class StartStoppedError extends Error {
  override name = 'StartStoppedError'
}

/** Another node has this number, which nobody had asked for: `withOtherId` finds the next. */
export class NodeIdTakenError extends Error {
  override name = 'NodeIdTakenError'
  readonly taken: ReadonlySet<number>

  constructor(nodeId: number, taken: ReadonlySet<number>) {
    super(`another node has the number ${nodeId}`)
    this.taken = taken
  }
}
