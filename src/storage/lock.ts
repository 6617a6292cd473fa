/** Runs actions one after the other, in the order they came. */
export class Lock {
  #last: Promise<unknown> | null = null

  run<T>(action: () => Promise<T>): Promise<T> {
    const before = this.#last
    const run = before === null ? action() : before.then(action, action)
    this.#last = run
    const clear = () => {
      if (this.#last === run) this.#last = null
    }
    run.then(clear, clear)
    return run
  }
}
