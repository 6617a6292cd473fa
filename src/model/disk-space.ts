/**
 * Whether a replica can take records while its broker's disk is in this state (`outOfSpace` of BrokerHeartbeat). What is
 * kept free for the node itself is open to coordinators for longer than to clients.
 */
export function takesRecords(outOfSpace: number, isInternal: boolean): boolean {
  return outOfSpace < (isInternal ? 2 : 1)
}
