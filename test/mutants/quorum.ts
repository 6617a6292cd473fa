import type { Edit, Mutant } from './mutant.ts'

const QUORUM = 'a metadata quorum loses nothing and shows everyone the same'
const DISKS = 'controllers get empty disks one after the other'
const ELECTIONS = 'controllers that die within their elections elect one leader an epoch'

/** A rule of the pure machine, which has a switch for it (`src/raft/mutations.ts`). */
function switchedOff(mutation: string): Edit {
  return { file: 'raft/core.ts', from: 'options.mutations ?? {}', to: `options.mutations ?? { ${mutation}: true }` }
}

const quorumState = 'quorum/quorum-state.ts'

export const QUORUM_MUTANTS: readonly Mutant[] = [
  {
    name: 'the log cut before the folder was judged by it',
    scenario: 'a deletion that a crash cut short is finished',
    edits: [{ file: 'quorum/quorum.ts', from: '    await this.#options.snapshotsAfter\n', to: '' }],
  },
  {
    name: 'vote not synced',
    scenario: ELECTIONS,
    edits: [
      {
        file: quorumState,
        from: "import { replaceFile } from '../storage/files.ts'",
        to: "import { replaceDerivedFile } from '../storage/files.ts'",
      },
      {
        file: quorumState,
        from: 'await replaceFile(disk, `${folder}/${QUORUM_STATE_FILE}`, [Buffer.from(printQuorumState(state))])',
        to: 'await replaceDerivedFile(disk, `${folder}/${QUORUM_STATE_FILE}`, Buffer.from(printQuorumState(state)))',
      },
    ],
  },
  { name: 'vote not written down', scenario: ELECTIONS, edits: [switchedOff('voteNotSynced')] },
  { name: 'vote twice after restart', scenario: ELECTIONS, edits: [switchedOff('voteForgottenAtStart')] },
  { name: 'count old-term entries', scenario: ELECTIONS, edits: [switchedOff('oldEpochsCounted')] },
  { name: 'votes for a log that is behind', scenario: QUORUM, edits: [switchedOff('logNotComparedForVote')] },
  {
    name: 'metadata acknowledged before its fsync',
    scenario: ELECTIONS,
    edits: [switchedOff('followerAcknowledgesUnflushed')],
  },
  {
    name: 'metadata truncated by high watermark',
    scenario: ELECTIONS,
    edits: [switchedOff('truncatedToHighWatermark')],
  },
  { name: 'a wiped disk votes as the old one', scenario: DISKS, edits: [switchedOff('directoryIgnored')] },
  {
    name: 'stale metadata applied',
    scenario: ELECTIONS,
    edits: [
      {
        file: 'quorum/committed-image.ts',
        from: '  forgetAdoptable(): void {\n    this.#adoptable = []\n',
        to: '  forgetAdoptable(): void {\n',
      },
    ],
  },
  {
    name: 'metadata snapshot loaded past the log end',
    scenario: 'a controller dies while it goes over from a log that nobody shares',
    edits: [
      {
        file: 'quorum/metadata-load.ts',
        from: '  if (snapshot !== null) await dropOldLog(env, log, snapshot)\n',
        to: '',
      },
    ],
  },
]
