import { LogUnavailableError } from '../../env/replicated-log.ts'
import { AddRaftVoter } from '../../protocol/apis/add-raft-voter.ts'
import { AllocateProducerIds } from '../../protocol/apis/allocate-producer-ids.ts'
import { AlterConfigs } from '../../protocol/apis/alter-configs.ts'
import { AlterPartitionReassignments } from '../../protocol/apis/alter-partition-reassignments.ts'
import { AlterPartition } from '../../protocol/apis/alter-partition.ts'
import { AssignReplicasToDirs } from '../../protocol/apis/assign-replicas-to-dirs.ts'
import { BrokerHeartbeat } from '../../protocol/apis/broker-heartbeat.ts'
import { BrokerRegistration } from '../../protocol/apis/broker-registration.ts'
import { ControllerRegistration } from '../../protocol/apis/controller-registration.ts'
import { CreatePartitions } from '../../protocol/apis/create-partitions.ts'
import { CreateTopics } from '../../protocol/apis/create-topics.ts'
import { DeleteTopics } from '../../protocol/apis/delete-topics.ts'
import { DescribeQuorum } from '../../protocol/apis/describe-quorum.ts'
import { ElectLeaders } from '../../protocol/apis/elect-leaders.ts'
import { IncrementalAlterConfigs } from '../../protocol/apis/incremental-alter-configs.ts'
import { ListPartitionReassignments } from '../../protocol/apis/list-partition-reassignments.ts'
import { RemoveRaftVoter } from '../../protocol/apis/remove-raft-voter.ts'
import { UnregisterBroker } from '../../protocol/apis/unregister-broker.ts'
import { UnregisterController } from '../../protocol/apis/unregister-controller.ts'
import { UpdateFeatures } from '../../protocol/apis/update-features.ts'
import { ErrorCode, errorMessage } from '../../protocol/errors.ts'
import type { RequestOf, ResponseInput, ResponseOf } from '../../protocol/schema.ts'
import { NotControllerError } from '../../quorum/errors.ts'
import type { Call } from '../connections/call.ts'
import { type ControllerForwarder, ControllerUnavailableError, type ForwardedApi } from '../controller-channel.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'
import type { ControllerSide } from '../forward/controller-side.ts'
import { type LoggerLevelSetter, withLoggers } from './logger-levels.ts'

/** Why nothing was decided, for every item of a request. */
interface Refusal {
  readonly errorCode: number
  readonly errorMessage: string
}

/** Asks for a decision; `refused` is the answer when nobody decides. */
interface Decider {
  decide<A extends ForwardedApi>(
    api: A,
    request: RequestOf<A>,
    call: Call,
    refused: (request: RequestOf<A>, why: Refusal) => ResponseInput<A>,
  ): Promise<ResponseInput<A>>
}

/** What clients ask of the controller, by any node. */
function adminApis(decider: Decider, loggers: LoggerLevelSetter): ServedApi[] {
  const decided = <A extends ForwardedApi>(
    api: A,
    refused: (request: RequestOf<A>, why: Refusal) => ResponseInput<A>,
  ): ServedApi => serve(api, (request, call) => decider.decide(api, request, call, refused))
  const alterConfigs = (request: RequestOf<typeof IncrementalAlterConfigs>, call: Call) =>
    decider.decide(IncrementalAlterConfigs, request, call, ({ resources }, why) => ({
      responses: resources.map((resource) => refusedResource(resource, why)),
    }))
  return [
    decided(CreateTopics, ({ topics }, why) => ({ topics: topics.map(({ name }) => ({ name, ...why })) })),
    decided(DeleteTopics, ({ topics, topicNames }, why) => ({
      responses: [...topics, ...topicNames.map((name) => ({ name }))].map((topic) => ({ ...topic, ...why })),
    })),
    decided(CreatePartitions, ({ topics }, why) => ({ results: topics.map(({ name }) => ({ name, ...why })) })),
    decided(ElectLeaders, (_, { errorCode }) => ({ errorCode, replicaElectionResults: [] })),
    decided(UpdateFeatures, (_, why) => why),
    decided(UnregisterBroker, (_, why) => why),
    decided(UnregisterController, (_, why) => why),
    decided(AlterPartitionReassignments, (_, why) => ({ ...why, responses: [] })),
    decided(ListPartitionReassignments, (_, why) => ({ ...why, topics: [] })),
    decided(AlterConfigs, ({ resources }, why) => ({
      responses: resources.map((resource) => refusedResource(resource, why)),
    })),
    serve(IncrementalAlterConfigs, (request, call) =>
      withLoggers(loggers, request, (rest) => alterConfigs(rest, call)),
    ),
  ]
}

function refusedResource({ resourceType, resourceName }: { resourceType: number; resourceName: string }, why: Refusal) {
  return { resourceType, resourceName, ...why }
}

export interface ForwardingParts {
  readonly forwarder: ControllerForwarder
  readonly loggers: LoggerLevelSetter
  /** Resolves when this node shows the metadata up to that offset, so that its next answers show what was changed. */
  caughtUp(metadataOffset: number): Promise<void>
}

/** On a broker: each is passed on to the active controller, and answered when the decision is committed. */
export function forwardedApis(parts: ForwardingParts): ServedApi[] {
  const decide: Decider['decide'] = async (api, request, call, refused) => {
    try {
      const { response, metadataOffset } = await parts.forwarder.forward(api, request, originOf(call))
      await parts.caughtUp(metadataOffset)
      return response
    } catch (error) {
      if (!(error instanceof ControllerUnavailableError)) throw error
      // A client asks again, and finds out what became of it.
      const { errorCode, message } = error
      return refused(request, { errorCode, errorMessage: `${errorMessage(errorCode)} (${message})` })
    }
  }
  return [
    ...adminApis({ decide }, parts.loggers),
    serve(DescribeQuorum, (request, call) =>
      decide(DescribeQuorum, request, call, (_, { errorCode }) => ({ errorCode, topics: [], nodes: [] })),
    ),
    serve(AddRaftVoter, (request, call) => decide(AddRaftVoter, request, call, (_, why) => why)),
    serve(RemoveRaftVoter, (request, call) => decide(RemoveRaftVoter, request, call, (_, why) => why)),
  ]
}

function originOf(call: Call) {
  const { version, clientId } = call
  return {
    version,
    clientId,
    host: call.connection.remote.host,
    get gone() {
      return call.gone
    },
  }
}

/** On a controller: decided here, or not at all. */
export function decidedApis(side: ControllerSide, loggers: LoggerLevelSetter): ServedApi[] {
  const decide: Decider['decide'] = async (api, request, { version }, refused) => {
    try {
      return (await side.decide(api, request, version)) as ResponseOf<typeof api>
    } catch (error) {
      const errorCode = refusalOf(error)
      return refused(request, { errorCode, errorMessage: errorMessage(errorCode) })
    }
  }
  // What only brokers and other controllers ask.
  const forNode = <A extends ForwardedApi>(api: A, refused: (errorCode: number) => ResponseInput<A>): ServedApi =>
    serve(api, (request, call) => decide(api, request, call, (_, { errorCode }) => refused(errorCode)))
  return [
    ...adminApis({ decide }, loggers),
    forNode(BrokerRegistration, (errorCode) => ({ errorCode })),
    forNode(BrokerHeartbeat, (errorCode) => ({ errorCode, shouldShutDown: false })),
    forNode(AlterPartition, (errorCode) => ({ errorCode, topics: [] })),
    forNode(AssignReplicasToDirs, (errorCode) => ({ errorCode, directories: [] })),
    forNode(ControllerRegistration, (errorCode) => ({ errorCode, errorMessage: null })),
    forNode(AllocateProducerIds, (errorCode) => ({ errorCode, producerIdStart: 0, producerIdLen: 0 })),
  ]
}

function refusalOf(error: unknown): number {
  if (error instanceof NotControllerError) return ErrorCode.NOT_CONTROLLER
  if (error instanceof LogUnavailableError) return ErrorCode.REQUEST_TIMED_OUT
  throw error
}
