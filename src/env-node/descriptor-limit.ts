import fs from 'node:fs'

/** How many files and sockets this process may have open (RLIMIT_NOFILE, which Node has raised to the hard limit); null when the system does not say. */
export function descriptorLimit(): number | null {
  try {
    const match = /^Max open files\s+(\d+)/m.exec(fs.readFileSync('/proc/self/limits', 'utf8'))
    return match === null ? null : Number(match[1])
  } catch {
    return null
  }
}
