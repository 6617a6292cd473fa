import type {
  ControllerRegistrationRequest,
  ControllerRegistrationResponse,
} from '../protocol/apis/controller-registration.ts'
import type {
  UnregisterControllerRequest,
  UnregisterControllerResponse,
} from '../protocol/apis/unregister-controller.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { ACCEPTED, type Decision, type DecisionContext, refusal } from './decision.ts'

/** A controller says where it is reached and what it can do (KIP-919). */
export function registerController(
  { image }: DecisionContext,
  request: ControllerRegistrationRequest,
): Decision<ControllerRegistrationResponse> {
  const { controllerId, incarnationId, zkMigrationReady, listeners, features } = request
  for (const [feature, level] of image.features) {
    const range = features.find(({ name }) => name === feature)
    const [low, high] = [range?.minSupportedVersion ?? 0, range?.maxSupportedVersion ?? 0]
    if (level < low || level > high) {
      const message = `Controller ${controllerId} supports ${feature} ${low}-${high}, the cluster is at ${level}.`
      return { records: [], response: { throttleTimeMs: 0, ...refusal(ErrorCode.UNSUPPORTED_VERSION, message) } }
    }
  }
  return {
    records: [
      {
        type: 'RegisterController',
        value: { controllerId, incarnationId, zkMigrationReady, endPoints: listeners, features },
      },
    ],
    response: { throttleTimeMs: 0, ...ACCEPTED },
  }
}

/** 4.4-IV2. */
const UNREGISTRATION_SINCE = 33

/** Forgets a controller that will not come back (KIP-1312), so that what it could do holds nobody up. */
export function unregisterController(
  { image }: DecisionContext,
  { controllerId }: UnregisterControllerRequest,
): Decision<UnregisterControllerResponse> {
  const refused = (errorCode: number, message: string) => {
    return { records: [], response: { throttleTimeMs: 0, ...refusal(errorCode, message) } }
  }
  if ((image.features.get('metadata.version') ?? 0) < UNREGISTRATION_SINCE) {
    const message = 'The current MetadataVersion is too old to support controller unregistration.'
    return refused(ErrorCode.UNSUPPORTED_VERSION, message)
  }
  if (image.controllers.get(controllerId) === undefined) {
    const message = `Controller ID ${controllerId} is not currently registered.`
    return refused(ErrorCode.CONTROLLER_ID_NOT_REGISTERED, message)
  }
  const record = { type: 'UnregisterController', value: { controllerId } } as const
  return { records: [record], response: { throttleTimeMs: 0, ...ACCEPTED } }
}
