import { Produce, type ProduceRequest } from '../../protocol/apis/produce.ts'
import { ErrorCode, errorName } from '../../protocol/errors.ts'
import type { ProduceAnswer } from '../../replica/produce.ts'
import type { RequestContext } from '../../replica/types.ts'
import type { Call } from '../connections/call.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'

export interface ProduceTarget {
  produce(request: ProduceRequest, context: RequestContext): ProduceAnswer | Promise<ProduceAnswer>
}

/**
 * Served from 3 to 13, advertised from 0: older releases of librdkafka turn compression off when 0 is not named
 * (KAFKA-18659), and never send it. A producer that wants no acknowledgement (acks=0) gets no response; a refusal it
 * can only learn by losing its connection.
 */
export function produce(target: ProduceTarget): ServedApi {
  const handle = (request: ProduceRequest, call: Call) => {
    const answer = target.produce(request, call)
    if (request.acks !== 0) return answer
    if (answer instanceof Promise) return answer.then((response) => finishUnacknowledged(response, call))
    return finishUnacknowledged(answer, call)
  }
  return serve(Produce, handle, { advertised: [0, 13] })
}

function finishUnacknowledged({ responses }: ProduceAnswer, call: Call): undefined {
  for (const { name, partitionResponses } of responses) {
    for (const { index, errorCode } of partitionResponses) {
      if (errorCode === ErrorCode.NONE) continue
      call.closeConnection(`produce with acks=0 to ${name}-${index} refused: ${errorName(errorCode)}`)
      return
    }
  }
  call.replyNothing()
}
