import { isInternalTopic, topicNameProblem } from '../../controller/topic-names.ts'
import { NO_TOPIC_ID } from '../../model/ids.ts'
import type { MetadataImage, TopicImage } from '../../metadata/image.ts'
import { Metadata, type MetadataRequest } from '../../protocol/apis/metadata.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { ResponseInput } from '../../protocol/schema.ts'
import type { Call } from '../connections/call.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'
import type { Endpoints } from '../endpoints.ts'
import type { MetadataSource } from '../services.ts'
import { CLUSTER_OPERATIONS, OPERATIONS_OMITTED, TOPIC_OPERATIONS } from './authorized-operations.ts'
import { PartitionViewer } from './topic-view.ts'

type Response = ResponseInput<typeof Metadata>
type TopicAnswer = Response['topics'][number]

export interface TopicCreator {
  /** Whether a topic may come into being by being asked for (`auto.create.topics.enable`). */
  readonly autoCreates: boolean
  /**
   * Creates the topics with the cluster's defaults. Resolves, with the error for each topic that was not created, when
   * the image of this node shows them.
   */
  create(names: readonly string[], clientId: string | null): Promise<ReadonlyMap<string, number>>
}

/**
 * Served from 0 to 13. Where a topic is created on the way the answer waits for it, so that a client need not ask twice
 * (Kafka answers with an error first). The controller named is any live broker: every broker forwards.
 */
export function metadata(source: MetadataSource, endpoints: Endpoints, creator: TopicCreator): ServedApi {
  const handle = (request: MetadataRequest, call: Call): Response | Promise<Response> => {
    const refusal = refuse(request, call.version)
    if (refusal !== null) return refusal
    const missing = creator.autoCreates && request.allowAutoTopicCreation ? missingNames(request, source) : []
    const answer = (created: ReadonlyMap<string, number>) => describe(request, call, source, endpoints, created)
    if (missing.length > 0) return creator.create(missing, call.clientId).then(answer)
    const settled = source.settled(() => leadersOf(request, source))
    return settled === null ? answer(NOTHING_CREATED) : settled.then(() => answer(NOTHING_CREATED))
  }
  return serve(Metadata, handle)
}

/** Topics that one request may bring into being; the client asks again for more. */
const CREATED_PER_REQUEST_MAX = 100

const NOTHING_CREATED: ReadonlyMap<string, number> = new Map()

/** Versions 10 and 11 carry topic ids but do not know what to do with them. */
function refuse({ topics }: MetadataRequest, version: number): Response | null {
  if (version >= 12 || topics === null) return null
  if (topics.every(({ name, topicId }) => name !== null && topicId === NO_TOPIC_ID)) return null
  return {
    brokers: [],
    topics: topics.map(({ name, topicId }) => ({
      errorCode: ErrorCode.INVALID_REQUEST,
      name: name ?? '',
      topicId,
      partitions: [],
    })),
  }
}

function asksById(topics: MetadataRequest['topics']): boolean {
  return (topics ?? []).some(({ topicId }) => topicId !== NO_TOPIC_ID)
}

function missingNames({ topics }: MetadataRequest, source: MetadataSource): string[] {
  const image = source.image()
  const names = new Set<string>()
  if (asksById(topics)) return []
  for (const { name } of topics ?? []) {
    if (name !== null && image.topic(name) === undefined && topicNameProblem(name) === null) names.add(name)
  }
  return [...names].slice(0, CREATED_PER_REQUEST_MAX)
}

function describe(
  request: MetadataRequest,
  call: Call,
  source: MetadataSource,
  endpoints: Endpoints,
  created: ReadonlyMap<string, number>,
): Response {
  const image = source.image()
  const viewer = new PartitionViewer(image, endpoints, call.connection)
  const show = (topic: TopicImage): TopicAnswer => ({
    errorCode: ErrorCode.NONE,
    name: topic.name,
    topicId: topic.topicId,
    isInternal: isInternalTopic(topic.name),
    partitions: topic.partitions.map((partition, index) => viewer.view(index, partition)),
    topicAuthorizedOperations: request.includeTopicAuthorizedOperations ? TOPIC_OPERATIONS : OPERATIONS_OMITTED,
  })
  const wantsAll = request.topics === null || (call.version === 0 && request.topics.length === 0)
  const topics = wantsAll ? allTopics(image).map(show) : namedTopics(request, image, show, created)
  const brokers = endpoints.alive(call.connection)
  const controllerId = source.activeController() ?? -1
  return {
    brokers,
    clusterId: source.clusterId,
    controllerId: brokers.some(({ nodeId }) => nodeId === controllerId) ? controllerId : (brokers[0]?.nodeId ?? -1),
    topics,
    clusterAuthorizedOperations: request.includeClusterAuthorizedOperations ? CLUSTER_OPERATIONS : OPERATIONS_OMITTED,
    errorCode: ErrorCode.NONE,
  }
}

/** The leaders that the answer would name. */
function* leadersOf({ topics }: MetadataRequest, source: MetadataSource): Generator<number> {
  const image = source.image()
  const asked = topics?.map(({ name, topicId }) => (name === null ? image.topicById(topicId) : image.topic(name)))
  for (const topic of asked ?? allTopics(image)) for (const { leader } of topic?.partitions ?? []) yield leader
}

function allTopics(image: MetadataImage): TopicImage[] {
  const topics = [...image.topicsByName].map(([, topic]) => topic)
  return topics.sort((left, right) => (left.name < right.name ? -1 : 1))
}

/** In the order of the request, each once. */
function namedTopics(
  { topics, includeTopicAuthorizedOperations }: MetadataRequest,
  image: MetadataImage,
  show: (topic: TopicImage) => TopicAnswer,
  created: ReadonlyMap<string, number>,
): TopicAnswer[] {
  const answers = new Map<string, TopicAnswer>()
  // One id makes it a request by ids: what has only a name is passed over, as by Kafka.
  const byId = asksById(topics)
  for (const entry of topics ?? []) {
    const { topicId } = entry
    const name = byId ? null : entry.name
    if (byId && topicId === NO_TOPIC_ID) continue
    const wanted = name ?? topicId
    if (answers.has(wanted)) continue
    const topic = name === null ? image.topicById(topicId) : image.topic(name)
    if (topic !== undefined) {
      answers.set(wanted, show(topic))
      continue
    }
    answers.set(wanted, {
      errorCode: name === null ? ErrorCode.UNKNOWN_TOPIC_ID : absenceOf(name, created),
      name,
      topicId,
      isInternal: name !== null && isInternalTopic(name),
      partitions: [],
      // Of an id that nobody knows Kafka does not say what may be done with it.
      topicAuthorizedOperations:
        includeTopicAuthorizedOperations && name !== null ? TOPIC_OPERATIONS : OPERATIONS_OMITTED,
    })
  }
  return [...answers.values()]
}

function absenceOf(name: string, created: ReadonlyMap<string, number>): number {
  if (topicNameProblem(name) !== null) return ErrorCode.INVALID_TOPIC_EXCEPTION
  return created.get(name) ?? ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
}
