import type { Mutant } from './mutant.ts'

const SCENARIO = 'lag in seconds and what groups lost'

export const LAG_MUTANTS: readonly Mutant[] = [
  {
    name: 'one coordinator told of what retention does, not all',
    scenario: SCENARIO,
    edits: [
      {
        file: 'server/lag/outlook-sender.ts',
        from: 'this.#box.setCoordinators(epochs)',
        to: 'this.#box.setCoordinators(new Map([...epochs].slice(0, 1)))',
      },
    ],
  },
  {
    name: 'a coordinator that started anew not told again',
    scenario: SCENARIO,
    edits: [
      {
        file: 'server/lag/outlook-box.ts',
        from: 'if (this.#coordinators.get(nodeId)?.brokerEpoch === brokerEpoch) continue',
        to: 'if (this.#coordinators.has(nodeId)) continue',
      },
      {
        file: 'server/lag/outlook-box.ts',
        from: 'if (!epochs.has(nodeId)) this.#coordinators.delete(nodeId)',
        to: 'if (epochs.size === 0) this.#coordinators.delete(nodeId)',
      },
    ],
  },
  {
    name: 'what was read counted as lost',
    scenario: SCENARIO,
    edits: [
      {
        file: 'group/retention-risk.ts',
        from: 'const from = Math.max(offset, startBefore ?? lost?.at(-1)?.to ?? 0)',
        to: 'const from = startBefore ?? lost?.at(-1)?.to ?? 0',
      },
    ],
  },
  {
    name: 'a commit forgets what was lost before',
    scenario: SCENARIO,
    edits: [{ file: 'group/offset-commits.ts', from: '  return { lost: stored.lost }', to: '  return {}' }],
  },
  {
    name: 'nothing in danger before it goes',
    scenario: SCENARIO,
    edits: [
      {
        file: 'storage/log-outlook.ts',
        from: 'Math.max(DANGER_SHARE * Math.max(state.config.retentionMs, 0), 2 * roundMs)',
        to: '-1',
      },
    ],
  },
  {
    name: 'the age of the record before',
    scenario: SCENARIO,
    edits: [
      {
        file: 'replica/list-offsets.ts',
        from: 'await log.recordAt(offset, highWatermark)',
        to: 'await log.recordAt(Math.max(0, offset - 1), highWatermark)',
      },
    ],
  },
]
