import type { Mutant } from './mutant.ts'

const ONE_NODE_CRASHES = 'one node loses nothing to crashes'
const FAILING_DISK = 'one node on a failing disk'
const BIT_ROT = 'one node never serves what its disk has changed'
const LOGS = 'a partition log survives crashes at any instant'

const DERIVED_FILES = 'damage of what is derived from the records changes no answer of one node'

const derive = 'storage/derive.ts'
const writer = 'storage/log-writer.ts'
const recovery = 'storage/log-recovery.ts'

export const STORAGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'ack before fsync',
    scenario: ONE_NODE_CRASHES,
    edits: [
      {
        file: 'partition/leader.ts',
        from: "return this.#durability === 'fsync' ? this.#durableOffset : this.#writtenOffset",
        to: 'return this.#endOffset',
      },
    ],
  },
  {
    name: 'directory not synced',
    scenario: ONE_NODE_CRASHES,
    edits: [{ file: writer, from: '        await state.context.env.disk.syncDirectory(state.directory)\n', to: '' }],
  },
  {
    name: 'fsync error retried',
    scenario: FAILING_DISK,
    edits: [
      {
        file: writer,
        from: '      state.fail(error)\n      return\n    }\n    this.#becameDurable(target)',
        to: '      return\n    }\n    this.#becameDurable(target)',
      },
      {
        file: writer,
        from: '    if (!isOutOfSpace(error)) {\n      this.#state.fail(error)\n      return\n    }\n',
        to: '',
      },
    ],
  },
  {
    name: 'a partial write taken for whole (ENOSPC swallowed)',
    scenario: 'one node without room',
    edits: [
      {
        file: writer,
        from: 'await file.write(buffersOf(entries), position)',
        to: 'await file.write(buffersOf(entries), position).catch((error) => {\n        if (!isOutOfSpace(error)) throw error\n      })',
      },
    ],
  },
  {
    name: 'the recovered tail not synced before it is used',
    scenario: FAILING_DISK,
    edits: [
      {
        file: recovery,
        from: '    if (isLast) await rewrite(file, rewriteFrom, end.position)\n    await file.sync()\n',
        to: '',
      },
    ],
  },
  {
    name: 'torn tail kept',
    scenario: LOGS,
    edits: [
      { file: 'storage/scan.ts', from: "if (!isGood) return ended(position + at, 'a batch with a wrong CRC')", to: '' },
    ],
  },
  {
    name: 'mid-log corruption truncated',
    scenario: BIT_ROT,
    edits: [
      {
        file: recovery,
        from: 'if (!isLast || end.isMisplaced || end.nextOffset < recoveryPoint)',
        to: 'if (!isLast)',
      },
      { file: recovery, from: '  if (end < recoveryPoint) throw endsEarly(state, end, recoveryPoint)\n', to: '' },
      {
        file: recovery,
        from: '  if (state.endOffset < input.recoveryPoint) throw endsEarly(state, state.endOffset, input.recoveryPoint)\n',
        to: '',
      },
    ],
  },
  {
    name: 'producer state not rebuilt after truncation',
    scenario: 'a leader is killed before any follower has fetched what it took',
    edits: [
      {
        file: derive,
        from: '  state.producers.clear()\n  await derive(state, snapshots, { end: endOffset, mustVerify: false })\n',
        to: '  const known = [...state.producers.entries]\n  await derive(state, snapshots, { end: endOffset, mustVerify: false })\n  state.producers.load(known, 0)\n',
      },
    ],
  },
  {
    name: 'snapshot loaded past the log end',
    scenario: LOGS,
    edits: [
      // Many snapshots, not a rule: without it the logs of a run would have to be much larger.
      {
        file: 'storage/derived-files.ts',
        from: 'SNAPSHOT_EVERY_BYTES = 1024 ** 2',
        to: 'SNAPSHOT_EVERY_BYTES = 1000',
      },
      { file: derive, from: '    if (end !== null && offset > end) continue\n', to: '' },
      { file: derive, from: ' || note.position > segment.writtenBytes)', to: ')' },
    ],
  },
  {
    name: 'index trusted without check',
    scenario: DERIVED_FILES,
    edits: [
      {
        file: 'storage/segment-index.ts',
        from: 'return isBatch && lastOffset(header, 0) === offset',
        to: 'return isBatch || offset >= 0',
      },
      {
        file: 'storage/segment-index.ts',
        from: '  if (header === null) return false\n  const isBatch',
        to: '  if (header === null) return true\n  const isBatch',
      },
    ],
  },
  {
    name: 'retention by wall clock',
    scenario: 'a clock that jumps for a while makes one node delete nothing',
    edits: [
      {
        file: 'storage/retention-clock.ts',
        from: 'if (wallMs - expectedMs <= JUMP_MS) {',
        to: 'if (wallMs - expectedMs <= Number.MAX_SAFE_INTEGER) {',
      },
    ],
  },
  {
    name: 'tombstone early',
    scenario: 'a compacted topic keeps the newest value of every key',
    edits: [
      {
        file: 'storage/cleaner/log-filter.ts',
        from: 'return horizonMs !== null && horizonMs <= this.#input.wallMs',
        to: 'return horizonMs !== null',
      },
    ],
  },
  {
    name: 'topic name instead of id',
    scenario: 'a node that was away while a topic was made anew',
    edits: [
      {
        file: 'replica/hosted.ts',
        from: '    if (topicId !== NO_TOPIC_ID && partition.topicId !== topicId) return ErrorCode.INCONSISTENT_TOPIC_ID\n',
        to: '',
      },
      {
        file: 'replica/hosting.ts',
        from: 'return !placed || (topicId !== null && topic?.topicId !== topicId)',
        to: 'return !placed',
      },
      {
        file: 'replica/hosting.ts',
        from: 'if (placed === undefined || image.topic(topic)?.topicId !== partition.topicId) return',
        to: 'if (placed === undefined) return',
      },
      {
        file: 'storage/partition-directories.ts',
        from: '    if (found !== null && topicId !== null && found.topicId !== topicId)\n      throw new TopicIdMismatchError(directory, found.topicId, topicId)\n',
        to: '',
      },
    ],
  },
]
