import type { MetadataImage } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import type { DeleteTopicsRequest, DeleteTopicsResponse } from '../protocol/apis/delete-topics.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { brokerConfig } from './config-view.ts'
import { ACCEPTED, type Decision, type DecisionContext, type Refusal, refusal } from './decision.ts'

type Result = DeleteTopicsResponse['responses'][number]
type Named = { readonly name: string | null; readonly topicId: string }

/** Topics by name or by id. What is named twice, in whichever way, is not deleted. */
export function deleteTopics(context: DecisionContext, request: DeleteTopicsRequest): Decision<DeleteTopicsResponse> {
  const { image, broker, version } = context
  const topics: Named[] = [...request.topics, ...request.topicNames.map((name) => ({ name, topicId: NO_TOPIC_ID }))]
  const decide = brokerConfig(image, broker, 'delete.topic.enable') === 'true' ? resolve : () => disabled(version)
  const responses: Result[] = []
  const records: MetadataRecord[] = []
  const isNamedTwice = ({ name, topicId }: Named) => name !== null && topicId !== NO_TOPIC_ID
  for (const named of topics.filter(isNamedTwice)) {
    const why = 'You may not specify both topic name and topic id.'
    responses.push({ ...named, ...refusal(ErrorCode.INVALID_REQUEST, why) })
  }
  const others = topics.filter((named) => !isNamedTwice(named))
  const perKey = Map.groupBy(others, ({ name, topicId }) => name ?? topicId)
  const once = [...perKey.values()].filter((same) => same.length === 1).flat()
  const named = { names: new Set(once.map(({ name }) => name)), ids: new Set(others.map(({ topicId }) => topicId)) }
  for (const same of perKey.values()) {
    const one = same[0] as Named
    if (one.name === null && one.topicId === NO_TOPIC_ID) {
      for (const each of same) responses.push({ ...each, ...duplicate(each) })
      continue
    }
    const result = same.length > 1 ? duplicate(one) : decide(image, one, named)
    // Of a topic that is named by its id and by its name the answer speaks once.
    if (result === ALSO_BY_NAME && one.name === null) continue
    responses.push({ ...identity(image, one, result), ...result })
    if (result.errorCode !== ErrorCode.NONE) continue
    const topic = one.name === null ? image.topicById(one.topicId) : image.topic(one.name)
    if (topic !== undefined) records.push({ type: 'RemoveTopic', value: { topicId: topic.topicId } })
  }
  return { records, response: { throttleTimeMs: 0, responses } }
}

/** Both name and id of a topic that was found, else what the client said. */
function identity(image: MetadataImage, named: Named, result: Refusal): Named {
  if (result !== ALSO_BY_NAME && result.errorCode !== ErrorCode.NONE) return named
  const topic = named.name === null ? image.topicById(named.topicId) : image.topic(named.name)
  return topic === undefined ? named : { name: topic.name, topicId: topic.topicId }
}

function disabled(version: number): Refusal {
  const message = 'Topic deletion is disabled.'
  return version < 3 ? refusal(ErrorCode.INVALID_REQUEST, message) : refusal(ErrorCode.TOPIC_DELETION_DISABLED, message)
}

function duplicate({ name, topicId }: Named): Refusal {
  const bad = (message: string) => refusal(ErrorCode.INVALID_REQUEST, message)
  if (name !== null) return bad('Duplicate topic name.')
  return bad(topicId === NO_TOPIC_ID ? 'Neither topic name nor id were specified.' : 'Duplicate topic id.')
}

/** What the request names, to find topics that it names in both ways. */
interface AllNamed {
  /** Each once. */
  readonly names: ReadonlySet<string | null>
  readonly ids: ReadonlySet<string>
}

function resolve(image: MetadataImage, { name, topicId }: Named, { names, ids }: AllNamed): Refusal {
  const bad = (message: string) => refusal(ErrorCode.INVALID_REQUEST, message)
  if (name === null && topicId === NO_TOPIC_ID) return bad('Neither topic name nor id were specified.')
  if (name === null) {
    const topic = image.topicById(topicId)
    if (topic === undefined) return refusal(ErrorCode.UNKNOWN_TOPIC_ID)
    return names.has(topic.name) ? ALSO_BY_NAME : ACCEPTED
  }
  const topic = image.topic(name)
  if (topic === undefined) return refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
  return ids.has(topic.topicId) ? ALSO_BY_NAME : ACCEPTED
}

const ALSO_BY_NAME = refusal(
  ErrorCode.INVALID_REQUEST,
  'The provided topic name maps to an ID that was already supplied.',
)
