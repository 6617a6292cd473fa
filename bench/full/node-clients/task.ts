/** What a benchmarked client does. Records are given as one value again and again; acks=all, idempotent where it can. */
export interface NodeClient {
  /** Sends `records` records, twice: `between` is called in the middle with nothing under way. */
  produce(task: Task, between: () => void): Promise<void>
  /** Reads so many records from the beginning; `first` is called at the first one. */
  consume(task: Task, first: () => void): Promise<void>
}

export interface Task {
  readonly address: string
  readonly topic: string
  readonly value: Buffer
  /** Sent before `between`. */
  readonly warmUpRecords: number
  readonly records: number
}

/** Sends under way at a time, of each client. */
const WINDOW_RECORDS = 2000

/** Calls `send` until `count` records went out, `perCall` with each; a new call begins when the oldest of the window is done. */
export async function inWindow(count: number, perCall: number, send: () => Promise<unknown>): Promise<void> {
  const window: Promise<unknown>[] = Array.from({ length: WINDOW_RECORDS / perCall }, () => Promise.resolve())
  for (let call = 0; call * perCall < count; call++) {
    const slot = call % window.length
    await window[slot]
    window[slot] = send()
  }
  await Promise.all(window)
}
