import { topologyDescription } from '../parts.ts'
import { api, int16, int32, type RequestOf, type ResponseOf, string, struct } from '../schema.ts'

/** A Kafka Streams client stores a description of its topology for people to look at (KIP-1331). */
export const StreamsGroupTopologyDescriptionUpdate = api({
  key: 93,
  name: 'StreamsGroupTopologyDescriptionUpdate',
  versions: [0, 0],
  flexible: 0,
  listeners: ['broker'],
  request: struct({
    groupId: string,
    memberId: string,
    topologyEpoch: int32,
    topologyDescription,
  }),
  response: struct({
    throttleTimeMs: int32.default(0),
    errorCode: int16,
    errorMessage: string.nullable().default(null),
  }),
})
export type StreamsGroupTopologyDescriptionUpdateRequest = RequestOf<typeof StreamsGroupTopologyDescriptionUpdate>
export type StreamsGroupTopologyDescriptionUpdateResponse = ResponseOf<typeof StreamsGroupTopologyDescriptionUpdate>
