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
    name: 'loading answered as no offset',
    scenario: 'who asks for offsets while their coordinator loads',
    edits: [
      {
        file: 'coordinator/group-coordinator.ts',
        from: '    if (answer instanceof CoordinatorError) return fetchRefusal(apiVersion, group, answer.code)\n    if (!(await',
        to:
          '    if (answer instanceof CoordinatorError && answer.code !== ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)\n' +
          '      return fetchRefusal(apiVersion, group, answer.code)\n' +
          '    const none = { committedOffset: -1, committedLeaderEpoch: -1, metadata: "", errorCode: 0 }\n' +
          '    if (answer instanceof CoordinatorError) return { groupId: group.groupId, errorCode: 0, topics:\n' +
          '      (known.topics ?? []).map((topic) => ({ ...topic, partitions: topic.partitionIndexes.map((partitionIndex) => ({ partitionIndex, ...none })) })) }\n' +
          '    if (!(await',
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
