import { createTopic, listOffset, WireError } from './wire-calls.ts'
import { Wire, WireClosed } from './wire.ts'

/** Errors with which a server asks for patience: unknown topic, leader, coordinator or preferred leader not there yet, loading, epochs. */
const temporaryCodes = new Set([3, 5, 6, 7, 9, 13, 14, 15, 16, 41, 72, 74, 76, 78, 80])

const noConnectionCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'])

export function isTemporary(error: unknown): boolean {
  if (error instanceof WireError) return temporaryCodes.has(error.code)
  return error instanceof WireClosed || noConnectionCodes.has((error as NodeJS.ErrnoException).code ?? '')
}

/** Runs `call` on a fresh connection, again while the server says to try again, at most `timeoutMs` long. */
export async function retried<T>(address: string, call: (wire: Wire) => Promise<T>, timeoutMs = 30_000): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    try {
      const wire = await Wire.connect(address)
      try {
        return await call(wire)
      } finally {
        wire.close()
      }
    } catch (error) {
      if (!isTemporary(error) || performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/** Creates a topic and waits until each of its partitions has a leader that answers. */
export async function readyTopic(
  address: string,
  topic: string,
  partitions: number,
  configs: Readonly<Record<string, string>> = {},
): Promise<void> {
  await retried(address, (wire) => createTopic(wire, topic, partitions, configs))
  for (let partition = 0; partition < partitions; partition++) {
    await retried(address, (wire) => listOffset(wire, { topic, partition, timestamp: -1 }))
  }
}
