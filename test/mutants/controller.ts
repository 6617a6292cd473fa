import type { Mutant } from './mutant.ts'

const alterPartition = 'controller/alter-partition.ts'

export const CONTROLLER_MUTANTS: readonly Mutant[] = [
  {
    name: 'ISR change without CAS',
    scenario: 'an ISR is proposed, and heard of long after it has changed',
    edits: [
      {
        file: alterPartition,
        from: '    if (partitionEpoch < partition.partitionEpoch) return ErrorCode.INVALID_UPDATE_VERSION\n',
        to: '',
      },
      {
        file: alterPartition,
        from: 'return brokerEpoch === -1 || brokerEpoch === broker.brokerEpoch',
        to: 'return true',
      },
    ],
  },
  {
    name: 'leader elected outside ISR and ELR',
    scenario: 'the copy that was away longest is back first, and does not lead',
    edits: [
      {
        file: 'controller/partition-change.ts',
        from: '(isr.length > 0 ? isr : elr).includes(id) && mayLead(id)',
        to: '(isr.length > 0 ? isr : replicas).includes(id) && mayLead(id)',
      },
    ],
  },
  {
    name: 'unclean restart keeps ISR',
    scenario: 'in the relaxed mode one node after the other loses its power',
    edits: [
      {
        file: 'controller/registration.ts',
        from: "return ranOnThisFolder && losesNothingInCrash(image, rules, partition) ? 'all' : 'maybe-less'",
        to: "return 'all'",
      },
    ],
  },
  {
    name: 'an older folder taken for the one that the broker died on',
    scenario: 'a broker comes back with its disk as it was in an earlier life',
    edits: [
      {
        file: 'controller/registration.ts',
        from: 'existing !== undefined && ownIncarnations.includes(existing.incarnationId)',
        to: 'existing !== undefined && ownIncarnations.length > 0',
      },
    ],
  },
  {
    name: 'a log fetched anew in the epoch of the damaged one',
    scenario: 'a fetch for a damaged log arrives when its place has been taken by an empty one',
    edits: [
      { file: 'controller/directories.ts', from: 'beginsEpoch: place.isDamaged', to: 'beginsEpoch: false' },
      { file: 'replica/hosting.ts', from: '    if (leaderEpoch <= usedEpoch) return false\n', to: '' },
    ],
  },
]
