import type { Quorum } from '../../quorum/quorum.ts'
import type { Family } from './family.ts'
import { family, single } from './table.ts'

/** This node's part in the quorum of the metadata. */
export function* quorumMetrics(quorum: Pick<Quorum, 'facts' | 'isActive'>): Generator<Family> {
  const { epoch, leaderId, highWatermark, voters, voterProgress } = quorum.facts
  yield single('millrace_controller_active', quorum.isActive ? 1 : 0)
  yield single('millrace_quorum_leader', leaderId ?? -1)
  yield single('millrace_quorum_epoch', epoch)
  yield single('millrace_quorum_voters', voters.size)
  yield single('millrace_quorum_high_watermark', highWatermark)
  if (!quorum.isActive) return
  const samples = voterProgress.map(({ key, endOffset }) => ({ labels: { voter: key.id }, value: endOffset }))
  yield family('millrace_quorum_voter_end_offset', samples)
}
