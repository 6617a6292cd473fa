import type { FetchSnapshotResponse } from '../protocol/apis/fetch-snapshot.ts'
import type { FetchResponse } from '../protocol/apis/fetch.ts'
import type { UpdateRaftVoterResponse } from '../protocol/apis/update-raft-voter.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { METADATA_TOPIC, METADATA_TOPIC_ID } from '../model/ids.ts'
import type { Core } from './core.ts'
import { type InboundRequest, type LogPosition, NOBODY, type Ticket } from './types.ts'

/** A request with what is known of how it came. */
export interface Asked {
  readonly ticket: Ticket
  readonly version: number
  /** The endpoints in the answer are those of this listener. */
  readonly listener: string
}

export type Asking<A extends InboundRequest['api']> = Asked & {
  readonly body: Extract<InboundRequest, { readonly api: A }>['body']
}

/** First version of each answer that says where the leader is reached. */
const ENDPOINTS_SINCE = { Vote: 1, BeginQuorumEpoch: 1, EndQuorumEpoch: 1, Fetch: 17, FetchSnapshot: 1 } as const

function leaderEndpoint(core: Core, { version, listener }: Asked, api: keyof typeof ENDPOINTS_SINCE) {
  const { leaderId } = core
  const endpoint = core.leaderEndpoints.find(({ name }) => name === listener)
  if (leaderId === null || endpoint === undefined || version < ENDPOINTS_SINCE[api]) return []
  return [{ nodeId: leaderId, host: endpoint.host, port: endpoint.port }]
}

function leaderFields(core: Core): { leaderId: number; leaderEpoch: number } {
  return { leaderId: core.leaderId ?? NOBODY, leaderEpoch: core.epoch }
}

export function answerVote(core: Core, asked: Asked, errorCode: number, voteGranted = false): void {
  const partition = { partitionIndex: 0, errorCode, ...leaderFields(core), voteGranted }
  const body = {
    errorCode: ErrorCode.NONE,
    topics: [{ topicName: METADATA_TOPIC, partitions: [partition] }],
    nodeEndpoints: leaderEndpoint(core, asked, 'Vote'),
  }
  core.respond(asked.ticket, { api: 'Vote', body })
}

export function answerEpoch(
  core: Core,
  asked: Asked,
  api: 'BeginQuorumEpoch' | 'EndQuorumEpoch',
  errorCode: number,
): void {
  const partition = { partitionIndex: 0, errorCode, ...leaderFields(core) }
  const body = {
    errorCode: ErrorCode.NONE,
    topics: [{ topicName: METADATA_TOPIC, partitions: [partition] }],
    nodeEndpoints: leaderEndpoint(core, asked, api),
  }
  core.respond(asked.ticket, { api, body })
}

/** Refused as a whole: for another cluster, or not about the metadata log. */
export function refuseVote(core: Core, { ticket }: Asked, errorCode: number): void {
  core.respond(ticket, { api: 'Vote', body: { errorCode, topics: [], nodeEndpoints: [] } })
}

export function refuseEpoch(
  core: Core,
  { ticket }: Asked,
  api: 'BeginQuorumEpoch' | 'EndQuorumEpoch',
  errorCode: number,
): void {
  core.respond(ticket, { api, body: { errorCode, topics: [], nodeEndpoints: [] } })
}

export function refuseFetch(core: Core, { ticket }: Asked, errorCode: number): void {
  const body = { throttleTimeMs: 0, errorCode, sessionId: 0, responses: [], nodeEndpoints: [] }
  core.respond(ticket, { api: 'Fetch', body })
}

export interface FetchAnswer {
  readonly errorCode: number
  readonly highWatermark?: number
  readonly diverging?: LogPosition
  readonly snapshot?: LogPosition
}

export function fetchResponse(core: Core, asked: Asked, answer: FetchAnswer): FetchResponse {
  const { errorCode, highWatermark = -1, diverging, snapshot } = answer
  const partition = {
    partitionIndex: 0,
    errorCode,
    highWatermark,
    lastStableOffset: -1,
    logStartOffset: core.log.startOffset,
    divergingEpoch: { epoch: diverging?.epoch ?? -1, endOffset: diverging?.offset ?? -1 },
    currentLeader: leaderFields(core),
    snapshotId: { endOffset: snapshot?.offset ?? -1, epoch: snapshot?.epoch ?? -1 },
    abortedTransactions: null,
    preferredReadReplica: -1,
    records: [],
  }
  return {
    throttleTimeMs: 0,
    errorCode: ErrorCode.NONE,
    sessionId: 0,
    responses: [{ topic: METADATA_TOPIC, topicId: METADATA_TOPIC_ID, partitions: [partition] }],
    nodeEndpoints: leaderEndpoint(core, asked, 'Fetch').map((endpoint) => ({ ...endpoint, rack: null })),
  }
}

export function answerFetch(core: Core, asked: Asked, answer: FetchAnswer): void {
  core.respond(asked.ticket, { api: 'Fetch', body: fetchResponse(core, asked, answer) })
}

export function refuseSnapshot(core: Core, { ticket }: Asked, errorCode: number): void {
  core.respond(ticket, { api: 'FetchSnapshot', body: { throttleTimeMs: 0, errorCode, topics: [], nodeEndpoints: [] } })
}

export function snapshotResponse(
  core: Core,
  asked: Asked,
  answer: { readonly errorCode: number; readonly id?: LogPosition; readonly size?: number; readonly position?: number },
): FetchSnapshotResponse {
  const { errorCode, id, size = 0, position = 0 } = answer
  const partition = {
    index: 0,
    errorCode,
    snapshotId: { endOffset: id?.offset ?? 0, epoch: id?.epoch ?? 0 },
    currentLeader: leaderFields(core),
    size,
    position,
    unalignedRecords: [],
  }
  return {
    throttleTimeMs: 0,
    errorCode: ErrorCode.NONE,
    topics: [{ name: METADATA_TOPIC, partitions: [partition] }],
    nodeEndpoints: leaderEndpoint(core, asked, 'FetchSnapshot'),
  }
}

export function answerVoterChange(
  core: Core,
  api: 'AddRaftVoter' | 'RemoveRaftVoter',
  ticket: Ticket,
  errorCode: number,
  errorMessage: string | null = null,
): void {
  core.respond(ticket, { api, body: { throttleTimeMs: 0, errorCode, errorMessage } })
}

export function answerUpdateVoter(core: Core, { ticket, listener }: Asked, errorCode: number): void {
  const endpoint = core.leaderEndpoints.find(({ name }) => name === listener)
  const currentLeader = { ...leaderFields(core), host: endpoint?.host ?? '', port: endpoint?.port ?? 0 }
  const body: UpdateRaftVoterResponse = { throttleTimeMs: 0, errorCode, currentLeader }
  core.respond(ticket, { api: 'UpdateRaftVoter', body })
}
