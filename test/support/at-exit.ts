/** What is undone when this process exits, in this order: a mount is busy while a process uses it. */
export type ExitStep = 'processes' | 'mounts' | 'files'

const steps: Record<ExitStep, (() => void)[]> = { processes: [], mounts: [], files: [] }

/** Runs `undo` when this process exits, also by Ctrl-C or an error (but not by SIGKILL). */
export function atExit(step: ExitStep, undo: () => void): void {
  steps[step].push(undo)
}

process.on('exit', () => {
  for (const undo of [...steps.processes, ...steps.mounts, ...steps.files]) {
    try {
      undo()
    } catch (error) {
      console.error(`cleaning up: ${String(error)}`)
    }
  }
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
