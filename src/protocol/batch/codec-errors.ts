import { MalformedError } from '../../base/bytes.ts'

/** Input that is well-formed so far but decompresses to more than the caller allows. */
export class DecompressedTooLargeError extends MalformedError {
  override name = 'DecompressedTooLargeError'

  constructor(codec: string, maxBytes: number, options?: ErrorOptions) {
    super(`${codec}: decompresses to more than ${maxBytes} bytes`, options)
  }
}

export function undecodable(codec: string, cause: unknown): MalformedError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  // The native snappy names itself.
  return new MalformedError(reason.startsWith(`${codec}: `) ? reason : `${codec}: ${reason}`, { cause })
}

/** Runs a function of node:zlib and turns what it throws into ours. */
export function throughZlib<T>(codec: string, maxBytes: number, run: () => T): T {
  try {
    return run()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new DecompressedTooLargeError(codec, maxBytes, { cause })
    }
    throw undecodable(codec, cause)
  }
}
