/**
 * Calls an action that serves all who asked before it began (a directory sync, a checkpoint): one is under way at most,
 * and those who come meanwhile share the next.
 */
export class GroupedCall {
  readonly #action: () => Promise<void>
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null

  constructor(action: () => Promise<void>) {
    this.#action = action
  }

  /** Resolves when an action that began after this call is done. */
  call(): Promise<void> {
    if (this.#running === null) return this.#start()
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    )
    return this.#next
  }

  #start(): Promise<void> {
    this.#next = null
    const run = this.#action().finally(() => {
      if (this.#running === run) this.#running = null
    })
    this.#running = run
    return run
  }
}
