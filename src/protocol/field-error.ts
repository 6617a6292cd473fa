import { AssertionError } from '../base/assert.ts'
import { MalformedError } from '../base/bytes.ts'

/** Input that breaks its schema. `path` names the field: `topics[3].partitions[0].records`. */
export class MalformedFieldError extends MalformedError {
  override name = 'MalformedFieldError'
  path: string
  readonly reason: string

  constructor(path: string, reason: string) {
    super(messageAt(path, reason))
    this.path = path
    this.reason = reason
  }

  /** Puts the surrounding field's name in front. */
  within(outer: string): this {
    this.path = joinPath(outer, this.path)
    this.message = messageAt(this.path, this.reason)
    return this
  }
}

/**
 * A value that this version of the message cannot carry: a field that it lacks, null where it knows none, a string
 * that is too long. A client reports it to its caller; in a server's answer it is a bug.
 */
export class UnencodableError extends Error {
  override name = 'UnencodableError'
  path: string
  readonly reason: string

  constructor(path: string, reason: string) {
    super(messageAt(path, reason))
    this.path = path
    this.reason = reason
  }

  within(outer: string): this {
    this.path = joinPath(outer, this.path)
    this.message = messageAt(this.path, this.reason)
    return this
  }
}

function messageAt(path: string, reason: string): string {
  return path === '' ? reason : `${path}: ${reason}`
}

function joinPath(outer: string, inner: string): string {
  if (outer === '') return inner
  return inner === '' || inner.startsWith('[') ? outer + inner : `${outer}.${inner}`
}

/** What to throw when decoding `name` threw `error`. */
export function malformedAt(name: string, error: unknown): unknown {
  if (error instanceof MalformedFieldError) return error.within(name)
  return error instanceof MalformedError ? new MalformedFieldError(name, error.message) : error
}

/** What to throw when encoding `name` threw `error`. A number out of its type's range, say, is a bug of the caller. */
export function unencodableAt(name: string, error: unknown): unknown {
  if (error instanceof UnencodableError) return error.within(name)
  const inner = error instanceof Error ? error.message : String(error)
  return new AssertionError(`${name}: ${inner}`)
}
