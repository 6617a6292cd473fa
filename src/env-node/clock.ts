import type { Clock } from '../env/clock.ts'

export const nodeClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}
