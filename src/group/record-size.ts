import type { GroupMetadata } from './records.ts'

/** Lengths, timeouts and the two identifiers' terminators: more than the fields beside strings and bytes ever take. */
const FIXED_BYTES = 64

/** At least as many bytes as the record of this group will have. */
export function metadataBytes(value: GroupMetadata): number {
  let bytes = FIXED_BYTES + text(value.protocolType) + text(value.protocolName) + text(value.leaderId)
  for (const member of value.members) {
    bytes += FIXED_BYTES + member.subscription.length + member.assignment.length
    bytes += text(member.memberId) + text(member.groupInstanceId) + text(member.clientId) + text(member.clientHost)
  }
  return bytes
}

function text(value: string | null): number {
  return value === null ? 0 : Buffer.byteLength(value)
}
