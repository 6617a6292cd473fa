import { array, int32, int64, int8, string, struct } from './schema.ts'

/** Structures that several APIs share. */

/** Who leads a partition now; sent with a refusal, so that the client need not ask for metadata first (KIP-951). */
export const leaderIdAndEpoch = struct({ leaderId: int32.default(-1), leaderEpoch: int32.default(-1) })

/** Where such a leader is to be reached (KIP-951). */
export const nodeEndpoint = struct({
  nodeId: int32,
  host: string,
  port: int32,
  rack: string.nullable().default(null),
})

/** What became of a range of acquired records (KIP-932): one type for all of them, or one for each. */
export const acknowledgementBatch = struct({
  firstOffset: int64,
  lastOffset: int64,
  acknowledgeTypes: array(int8),
})

const topologyDescriptionNode = struct({
  name: string,
  nodeType: int8,
  sourceTopics: array(string),
  sinkTopic: string.nullable().default(null),
  stores: array(string),
  successors: array(string),
})

const topologyDescriptionSubtopology = struct({
  subtopologyId: string,
  nodes: array(topologyDescriptionNode),
})

const topologyDescriptionGlobalStore = struct({
  source: topologyDescriptionNode,
  processor: topologyDescriptionNode,
})

/** The topology of a Kafka Streams application, for people to look at (KIP-1331). */
export const topologyDescription = struct({
  subtopologies: array(topologyDescriptionSubtopology),
  globalStores: array(topologyDescriptionGlobalStore),
})
