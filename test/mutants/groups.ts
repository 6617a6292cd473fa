import type { Mutant } from './mutant.ts'

export const GROUP_MUTANTS: readonly Mutant[] = [
  {
    name: 'group commit ignores generation',
    scenario: 'one node loses nothing to crashes',
    edits: [
      {
        file: 'group/offset-commits.ts',
        from: '    if (generation !== classic.generation) return ErrorCode.ILLEGAL_GENERATION\n',
        to: '',
      },
    ],
  },
  {
    name: 'committed offsets told while another may coordinate the group',
    scenario: 'one loses power while the two others stand still',
    edits: [
      {
        file: 'coordinator/group-coordinator.ts',
        from: '    if (this.#parts.mayBeSucceeded?.() !== true) return true\n',
        to: '    if (groupId !== "") return true\n',
      },
    ],
  },
  {
    name: 'a leadership proved by one follower of two',
    scenario: 'a coordinator that is cut off with one of its followers',
    within: 2000,
    edits: [
      {
        file: 'replica/leadership-checks.ts',
        from: 'if (this.#missing.size === 0)',
        to: 'if (this.#missing.size <= 1)',
      },
    ],
  },
]
