import { flushCompileCache } from 'node:module'

/** Soon, but behind whoever has waited for the node: it takes some tens of milliseconds, at the first start ever. */
const FLUSH_MS = 100
/** Long enough for whoever waits for the node to have connected. */
const QUIET_MS = 1500

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

/**
 * What can wait until the node serves: keeps the compiled code for the next start (a killed process would not), and
 * gives back the memory that only starting took, about 10 MB. That stops the event loop for some tens of
 * milliseconds, so it is done only while nobody is connected; with clients the memory is soon used again anyway.
 */
export function tidyAfterStart(isIdle: () => boolean): void {
  setTimeout(flushCompileCache, FLUSH_MS).unref()
  setTimeout(() => {
    const collect = (globalThis as { gc?: Collect }).gc
    if (isIdle()) collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }, QUIET_MS).unref()
}
