/**
 * How many replicas must be in sync before a record counts as committed. `configured` is `min.insync.replicas`, null where
 * nobody set it: three copies or more then need two, so that one dead node neither stops writers nor leaves an
 * acknowledged record on a single disk. More than there are copies cannot be asked for.
 *
 * `copies` leaves out replicas that a reassignment is still adding: a topic whose replication factor is raised stays
 * writable while they catch up. The controller and every leader must come to the same number: which replicas the
 * controller may elect out of sync rests on when the leader stops committing (KIP-966).
 */
export function minInsync(configured: number | null, copies: number): number {
  if (configured === null) return copies >= 3 ? 2 : 1
  return Math.max(1, Math.min(configured, copies))
}
