import { DiskError } from '../env/disk.ts'

/** A system error as the rest of the code knows it. `path` is named even where Node's own message leaves it out. */
export function toDiskError(error: unknown, path: string): DiskError {
  if (error instanceof DiskError) return error
  const { code, message } = error as NodeJS.ErrnoException
  return new DiskError(code ?? 'EUNKNOWN', path, message.includes(path) ? message : `${message}: ${path}`, {
    cause: error,
  })
}

/** Calls one function of `node:fs` that takes a callback; its error becomes a `DiskError`. */
export function call<T>(path: string, start: (done: (error: Error | null, value?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, value) => {
      if (error) reject(toDiskError(error, path))
      else resolve(value as T)
    })
  })
}
