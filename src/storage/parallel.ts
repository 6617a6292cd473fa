/** Logs opened, closed or looked at at the same time. */
export const PARALLEL_LOGS = 16

/** Runs `action` for every item, at most `atOnceMax` at the same time. Rejects with the first error, after all have ended. */
export async function inParallel<T>(
  items: readonly T[],
  atOnceMax: number,
  action: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0
  const errors: unknown[] = []
  const worker = async () => {
    while (next < items.length) {
      const item = items[next++] as T
      try {
        await action(item)
      } catch (error) {
        errors.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, worker))
  if (errors.length > 0) throw errors[0]
}
