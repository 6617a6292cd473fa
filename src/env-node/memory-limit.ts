import os from 'node:os'

/** How much memory this process may use: what its control group allows, or what the machine has. */
export function memoryLimit(): number {
  const allowed = process.constrainedMemory()
  return allowed > 0 ? Math.min(allowed, os.totalmem()) : os.totalmem()
}
