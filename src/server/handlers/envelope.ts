import { MalformedError } from '../../base/bytes.ts'
import { LogUnavailableError } from '../../env/replicated-log.ts'
import { Envelope, type EnvelopeRequest } from '../../protocol/apis/envelope.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import { NotControllerError } from '../../quorum/errors.ts'
import type { ForwardedApi } from '../controller-channel.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'
import { type ControllerSide, forwardedApis } from '../forward/controller-side.ts'
import { type Unwrapped, unwrapRequest } from '../forward/envelope-codec.ts'

/**
 * Version 0 (KIP-590), on a controller: a broker passes on what a client asked of it. The client's principal and address
 * come with it and are not looked at before authorisation exists. A controller that does not decide says so of the
 * envelope, not inside of it: that is for the broker, who asks elsewhere.
 */
export function envelope(side: ControllerSide): ServedApi {
  return serve(Envelope, async ({ requestData }: EnvelopeRequest) => {
    const unwrapped = unwrap(requestData)
    if (unwrapped === null) return { errorCode: ErrorCode.INVALID_REQUEST }
    const { api, request, version } = unwrapped
    try {
      const response = await side.decide(api as ForwardedApi, request as never, version)
      return {
        errorCode: ErrorCode.NONE,
        responseData: unwrapped.wrapResponse(response as ResponseInput<typeof api>),
        metadataOffset: side.committedOffset,
      }
    } catch (error) {
      if (error instanceof NotControllerError) return { errorCode: ErrorCode.NOT_CONTROLLER }
      if (error instanceof LogUnavailableError) return { errorCode: ErrorCode.REQUEST_TIMED_OUT }
      throw error
    }
  })
}

/** Null for what is no request, or none that may be passed on. */
function unwrap(requestData: Buffer): Unwrapped | null {
  try {
    return unwrapRequest(requestData, forwardedApis)
  } catch (error) {
    if (error instanceof MalformedError) return null
    throw error
  }
}
