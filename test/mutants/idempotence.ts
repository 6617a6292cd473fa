import type { Mutant } from './mutant.ts'

const ONE_NODE_CRASHES = 'one node loses nothing to crashes'

export const IDEMPOTENCE_MUTANTS: readonly Mutant[] = [
  {
    name: 'dedupe window 1',
    scenario: ONE_NODE_CRASHES,
    edits: [{ file: 'storage/producer-entry.ts', from: 'PRODUCER_BATCHES_KEPT = 5', to: 'PRODUCER_BATCHES_KEPT = 1' }],
  },
  {
    name: 'no deduplication',
    scenario: ONE_NODE_CRASHES,
    edits: [
      {
        file: 'storage/producer-states.ts',
        from: 'if (id < 0) return APPEND\n    const entry',
        to: 'if (id < 2 ** 50) return APPEND\n    const entry',
      },
    ],
  },
  {
    name: 'producer state not rebuilt at a start',
    scenario: ONE_NODE_CRASHES,
    edits: [
      {
        file: 'storage/derive.ts',
        from: '        takeIn(state, segment, buffer, at, nowMs)\n',
        to: '        if (state.epochs.assign(1, 0)) return\n',
      },
    ],
  },
]
