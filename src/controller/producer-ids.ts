import type { AllocateProducerIdsRequest, AllocateProducerIdsResponse } from '../protocol/apis/allocate-producer-ids.ts'
import { ErrorCode } from '../protocol/errors.ts'
import type { Decision, DecisionContext } from './decision.ts'

/** Ids a broker gets at a time (KIP-730). Those it has not used when it stops are never used. */
export const PRODUCER_ID_BLOCK = 1000

export function allocateProducerIds(
  { image }: DecisionContext,
  { brokerId, brokerEpoch }: AllocateProducerIdsRequest,
): Decision<AllocateProducerIdsResponse> {
  const none = { throttleTimeMs: 0, producerIdStart: 0, producerIdLen: 0 }
  const broker = image.broker(brokerId)
  if (broker?.brokerEpoch !== brokerEpoch) {
    return { records: [], response: { ...none, errorCode: ErrorCode.STALE_BROKER_EPOCH } }
  }
  const producerIdStart = image.nextProducerId
  const nextProducerId = producerIdStart + PRODUCER_ID_BLOCK
  if (!Number.isSafeInteger(nextProducerId)) {
    return { records: [], response: { ...none, errorCode: ErrorCode.UNKNOWN_SERVER_ERROR } }
  }
  return {
    records: [{ type: 'ProducerIds', value: { brokerId, brokerEpoch, nextProducerId } }],
    response: { throttleTimeMs: 0, errorCode: ErrorCode.NONE, producerIdStart, producerIdLen: PRODUCER_ID_BLOCK },
  }
}
