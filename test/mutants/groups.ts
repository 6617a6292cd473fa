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
]
