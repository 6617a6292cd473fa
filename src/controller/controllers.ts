import type {
  ControllerRegistrationRequest,
  ControllerRegistrationResponse,
} from '../protocol/apis/controller-registration.ts'
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
