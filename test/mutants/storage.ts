import type { Mutant } from './mutant.ts'

const ONE_NODE_CRASHES = 'one node loses nothing to crashes'
const FAILING_DISK = 'one node on a failing disk'
const BIT_ROT = 'one node never serves what its disk has changed'

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
    scenario: ONE_NODE_CRASHES,
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
    ],
  },
]
