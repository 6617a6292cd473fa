import type { Step } from './step.ts'

/**
 * The fewest of the steps with which the sequence still differs: pieces are left out, large ones first, then smaller.
 * `differs` runs the ones that are kept.
 */
export async function shrink(
  steps: readonly Step[],
  differs: (kept: readonly number[]) => Promise<boolean>,
): Promise<number[]> {
  let kept = steps.map((_, index) => index)
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = kept.length - size; at >= 0; at -= size) {
      const fewer = [...kept.slice(0, at), ...kept.slice(at + size)]
      if (fewer.length > 0 && (await differs(fewer))) {
        kept = fewer
        at = Math.min(at, kept.length)
      }
    }
  }
  return kept
}
