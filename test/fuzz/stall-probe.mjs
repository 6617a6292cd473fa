// Loaded into the node under test by NODE_OPTIONS=--import: measures how long its event loop stands still. A tick every few
// milliseconds notes how late it is, less the time that the thread had work but no processor (which the machine's other
// work causes, not ours). The longest such stall is written, in milliseconds, to the file named by STALL_FILE.
import { readFileSync, writeFileSync } from 'node:fs'

const everyMs = 5
const file = process.env.STALL_FILE

/** Milliseconds that the main thread has waited for a processor. */
function waitedMs() {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6
}

if (file !== undefined) {
  let longest = 0
  let last = performance.now()
  let lastWaited = waitedMs()
  let sinceWrite = 0
  const started = last
  setInterval(() => {
    const now = performance.now()
    const waited = waitedMs()
    const stall = now - last - everyMs - (waited - lastWaited)
    // A start loads and compiles code; nobody is served yet.
    if (now - started > 2000) longest = Math.max(longest, stall)
    if (++sinceWrite % 40 === 0) writeFileSync(file, longest.toFixed(2))
    last = now
    lastWaited = waited
  }, everyMs).unref()
}
