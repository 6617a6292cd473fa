import { Refused } from '../adapter.ts'

/** The answer, or what it was refused for: for commands of which the case asks how they end. */
export async function tell<T>(
  ask: () => Promise<T>,
): Promise<T | { readonly refused: string; readonly code: number | null }> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof Refused) return { refused: error.failure.name, code: error.failure.code }
    throw error
  }
}
