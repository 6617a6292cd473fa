// Loaded into the node under test by NODE_OPTIONS=--import; writes into the directory PROBE_DIRECTORY.
//
// stall: how long its event loop stood still at most since the last SIGUSR2, in milliseconds. A tick every few milliseconds notes how late it
// is, less the time that the thread had work but no processor (which the machine's other work causes, not ours).
//
// memory: what is alive after a full garbage collection, in bytes, written at each SIGUSR2.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const everyMs = 5
const directory = process.env.PROBE_DIRECTORY

/** Milliseconds that the main thread has waited for a processor. */
function waitedMs() {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6
}

function watchStalls() {
  let longest = 0
  let ticks = 0
  let last = performance.now()
  let lastWaited = waitedMs()
  setInterval(() => {
    const now = performance.now()
    const waited = waitedMs()
    longest = Math.max(longest, now - last - everyMs - (waited - lastWaited))
    if (++ticks % 40 === 0) writeFileSync(join(directory, 'stall'), longest.toFixed(2))
    last = now
    lastWaited = waited
  }, everyMs).unref()
  return () => {
    longest = 0
    last = performance.now()
    lastWaited = waitedMs()
  }
}

if (directory !== undefined) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const startAgain = watchStalls()
  process.on('SIGUSR2', () => {
    collect()
    collect()
    const { heapUsed, external } = process.memoryUsage()
    writeFileSync(join(directory, 'memory.new'), String(heapUsed + external))
    renameSync(join(directory, 'memory.new'), join(directory, 'memory'))
    startAgain()
  })
}
