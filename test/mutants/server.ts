import type { Mutant } from './mutant.ts'

export const SERVER_MUTANTS: readonly Mutant[] = [
  {
    name: 'array allocated before its length is checked',
    scenario: 'clients that send nonsense cost one node nothing',
    edits: [
      {
        file: 'protocol/decode.ts',
        from: '    reader.claim(length, element)\n    const values: unknown[] = []\n',
        to: '    const values: unknown[] = new Array(length)\n    reader.claim(length, element)\n    values.length = 0\n',
      },
    ],
  },
]
