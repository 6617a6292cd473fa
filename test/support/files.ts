import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { atExit } from './at-exit.ts'

/** The root of the checkout. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** Downloaded tools live here; git ignores it. */
export const cacheDirectory = process.env.MILLRACE_CACHE ?? join(root, '.cache')

const temporary = new Set<string>()
atExit('files', () => {
  for (const path of temporary) rmSync(path, { recursive: true, force: true })
})

/** A new directory that is removed when this process exits (kept with MILLRACE_KEEP=1, to look at it). */
export function temporaryDirectory(name: string): string {
  return directoryUnder(tmpdir(), name)
}

/** The same in memory, where the system has such a place: for servers whose disk is not what is looked at. */
export function memoryDirectory(name: string): string {
  return directoryUnder(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), name)
}

function directoryUnder(parent: string, name: string): string {
  const path = mkdtempSync(join(parent, `millrace-${name}-`))
  if (process.env.MILLRACE_KEEP === '1') console.log(`kept: ${path}`)
  else temporary.add(path)
  return path
}

/** Removes a temporary directory before the process exits. */
export function removeTemporary(path: string): void {
  if (process.env.MILLRACE_KEEP === '1') return
  rmSync(path, { recursive: true, force: true })
  temporary.delete(path)
}
