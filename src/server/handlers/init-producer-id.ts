import { InitProducerId } from '../../protocol/apis/init-producer-id.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'

export interface ProducerIds {
  /** An id that nobody else has ever got, or the error to answer with. */
  next(): Promise<{ readonly producerId: number } | { readonly errorCode: number }>
}

const NO_PRODUCER = { producerId: -1, producerEpoch: -1 }

/**
 * Served from 0 to 5 for idempotent producers. A producer without a transactional id gets a fresh id each time, whatever
 * id it comes with: its old one may go on writing, and nobody needs it fenced. Transactions are not served by this version.
 */
export function initProducerId(ids: ProducerIds): ServedApi {
  return serve(InitProducerId, async ({ transactionalId, producerId, producerEpoch }) => {
    const isHalfNamed = (producerId === -1) !== (producerEpoch === -1)
    if (transactionalId !== null || isHalfNamed) return { errorCode: ErrorCode.INVALID_REQUEST, ...NO_PRODUCER }
    const answer = await ids.next()
    if ('errorCode' in answer) return { errorCode: answer.errorCode, ...NO_PRODUCER }
    return { errorCode: ErrorCode.NONE, producerId: answer.producerId, producerEpoch: 0 }
  })
}
