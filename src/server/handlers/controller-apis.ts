import type { ControllerApi } from '../../controller/shard.ts'
import { AlterConfigs } from '../../protocol/apis/alter-configs.ts'
import { CreatePartitions } from '../../protocol/apis/create-partitions.ts'
import { CreateTopics } from '../../protocol/apis/create-topics.ts'
import { DeleteTopics } from '../../protocol/apis/delete-topics.ts'
import { ElectLeaders } from '../../protocol/apis/elect-leaders.ts'
import { IncrementalAlterConfigs } from '../../protocol/apis/incremental-alter-configs.ts'
import { UnregisterBroker } from '../../protocol/apis/unregister-broker.ts'
import { UpdateFeatures } from '../../protocol/apis/update-features.ts'
import { ErrorCode, errorMessage } from '../../protocol/errors.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import type { Call } from '../connections/call.ts'
import { type ControllerChannel, ControllerUnavailableError } from '../controller-channel.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'
import { type LoggerLevelSetter, withLoggers } from './logger-levels.ts'

/** The controller was not there, or went away while it decided: a client asks again, and finds out what became of it. */
function refusal({ message }: ControllerUnavailableError): Refusal {
  const errorCode = ErrorCode.REQUEST_TIMED_OUT
  return { errorCode, errorMessage: `${errorMessage(errorCode)} (${message})` }
}

interface Refusal {
  readonly errorCode: number
  readonly errorMessage: string
}

export interface ForwardingParts {
  readonly channel: ControllerChannel
  readonly loggers: LoggerLevelSetter
  /** Resolves when this node has applied what is committed now, so that its next answers show what was changed. */
  caughtUp(): Promise<void>
}

/** What every broker passes on to the active controller, and answers when the decision is committed. */
export function controllerApis(parts: ForwardingParts): ServedApi[] {
  const { loggers } = parts
  const alterConfigs = (request: RequestOf<typeof AlterConfigs>, call: Call) =>
    ask(parts, AlterConfigs, request, call, ({ resources }, why) => ({
      responses: resources.map((resource) => refusedResource(resource, why)),
    }))
  const incrementalAlterConfigs = (request: RequestOf<typeof IncrementalAlterConfigs>, call: Call) =>
    ask(parts, IncrementalAlterConfigs, request, call, ({ resources }, why) => ({
      responses: resources.map((resource) => refusedResource(resource, why)),
    }))
  return [
    forward(parts, CreateTopics, ({ topics }, why) => ({ topics: topics.map(({ name }) => ({ name, ...why })) })),
    forward(parts, DeleteTopics, ({ topics, topicNames }, why) => ({
      responses: [...topics, ...topicNames.map((name) => ({ name }))].map((topic) => ({ ...topic, ...why })),
    })),
    forward(parts, CreatePartitions, ({ topics }, why) => ({ results: topics.map(({ name }) => ({ name, ...why })) })),
    forward(parts, ElectLeaders, (_, { errorCode }) => ({ errorCode, replicaElectionResults: [] })),
    forward(parts, UpdateFeatures, (_, why) => why),
    forward(parts, UnregisterBroker, (_, why) => why),
    serve(AlterConfigs, alterConfigs),
    serve(IncrementalAlterConfigs, (request, call) =>
      withLoggers(loggers, request, (rest) => incrementalAlterConfigs(rest, call)),
    ),
  ]
}

function refusedResource({ resourceType, resourceName }: { resourceType: number; resourceName: string }, why: Refusal) {
  return { resourceType, resourceName, ...why }
}

function forward<A extends ControllerApi>(
  parts: ForwardingParts,
  api: A,
  refused: (request: RequestOf<A>, why: Refusal) => ResponseInput<A>,
): ServedApi {
  return serve(api, (request, call) => ask(parts, api, request, call, refused))
}

async function ask<A extends ControllerApi>(
  parts: ForwardingParts,
  api: A,
  request: RequestOf<A>,
  call: Call,
  refused: (request: RequestOf<A>, why: Refusal) => ResponseInput<A>,
): Promise<ResponseInput<A>> {
  try {
    const response = await parts.channel.send(api, request, call.version)
    await parts.caughtUp()
    return response
  } catch (error) {
    if (error instanceof ControllerUnavailableError) return refused(request, refusal(error))
    throw error
  }
}
