import { ByteReader, MalformedError } from '../base/bytes.ts'
import type { Member } from './member.ts'

/** An array of topic names cannot hold more elements than it has bytes, two for each length. */
const NAME_BYTES_MIN = 2

/**
 * The topics that the members of a consumer group read, by their metadata under the chosen protocol; null when it is not
 * in the format of `ConsumerProtocolSubscription`. Only the part that all versions begin with is read, so that a client
 * of a later version is understood too.
 */
export function subscribedTopics(members: Iterable<Member>, protocolName: string | null): ReadonlySet<string> | null {
  const topics = new Set<string>()
  for (const member of members) {
    if (protocolName === null) return null
    try {
      addTopics(member.metadataFor(protocolName), topics)
    } catch (error) {
      if (error instanceof MalformedError) return null
      throw error
    }
  }
  return topics
}

function addTopics(metadata: Buffer, topics: Set<string>): void {
  const reader = new ByteReader(metadata)
  const version = reader.int16()
  if (version < 0) throw new MalformedError(`subscription version ${version}`)
  const count = reader.int32()
  if (count < 0 || count * NAME_BYTES_MIN > reader.remaining) throw new MalformedError(`${count} topics`)
  for (let i = 0; i < count; i++) topics.add(reader.utf8(reader.int16()))
}
