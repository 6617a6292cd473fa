import type { Quorum } from '../../quorum/quorum.ts'
import type { Family } from './family.ts'

/** This node's part in the quorum of the metadata. */
export function* quorumMetrics(quorum: Pick<Quorum, 'facts' | 'isActive'>): Generator<Family> {
  const { epoch, leaderId, highWatermark, voters, voterProgress } = quorum.facts
  yield gauge('millrace_controller_active', '1 on the node that decides on metadata.', quorum.isActive ? 1 : 0)
  yield gauge('millrace_quorum_leader', 'The controller that leads, as this node knows; -1: none.', leaderId ?? -1)
  yield gauge('millrace_quorum_epoch', 'Epoch of the quorum.', epoch)
  yield gauge('millrace_quorum_voters', 'Controllers that vote.', voters.size)
  yield gauge('millrace_quorum_high_watermark', 'Committed metadata records, as this node knows.', highWatermark)
  if (!quorum.isActive) return
  yield {
    name: 'millrace_quorum_voter_end_offset',
    help: 'How far each other controller holds the metadata log, on the one that leads.',
    type: 'gauge',
    samples: voterProgress.map(({ key, endOffset }) => ({ labels: { voter: key.id }, value: endOffset })),
  }
}

function gauge(name: string, help: string, value: number): Family {
  return { name, help, type: 'gauge', samples: [{ value }] }
}
