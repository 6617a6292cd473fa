import { Fetch } from '../../../src/protocol/apis/fetch.ts'
import type { Model } from '../model.ts'
import { type Body, Learned, type Step } from '../step.ts'

function partitionsOf(model: Model, count: number): Body[] {
  const { random } = model
  return model.topicsOnce(count).map((topic) => {
    const partition = model.partition(topic)
    return {
      topic: topic.name,
      topicId: model.topicId(topic),
      partitions: [
        {
          partition,
          currentLeaderEpoch: model.leaderEpoch(),
          fetchOffset: model.offset(topic, partition),
          lastFetchedEpoch: random.chance(0.9) ? -1 : random.pick([0, 1, 100]),
          logStartOffset: -1,
          partitionMaxBytes: random.pick([1_000_000, 1_000_000, 1_000_000, 100, 1, 0]),
        },
      ],
    }
  })
}

function fetchBody(model: Model, count: number): Body {
  const { random } = model
  return {
    replicaId: -1,
    replicaState: { replicaId: -1, replicaEpoch: -1 },
    maxWaitMs: random.pick([0, 0, 1]),
    minBytes: random.pick([0, 1, 1, 1_000_000, -1]),
    maxBytes: random.chance(0.85) ? 0x7fffffff : random.pick([0, 1, 100, 1000]),
    isolationLevel: random.below(2),
    sessionId: 0,
    sessionEpoch: -1,
    topics: partitionsOf(model, count),
    forgottenTopicsData: [],
    rackId: random.pick(['', '', 'here']),
  }
}

export function fetch(model: Model): Step[] {
  const { random } = model
  const version = model.version(Fetch)
  return [{ api: Fetch, version, body: fetchBody(model, random.pick([1, 1, 1, 2, 2, 0])) }]
}

/** Begins a session, or goes on with one: rightly, or with an id or an epoch that is none of its. */
export function fetchInSession(model: Model): Step[] {
  const { random } = model
  const version = model.version(Fetch, 7)
  if (model.sessions.length === 0 || random.chance(0.2)) return [beginSession(model, version)]
  const session = random.pick(model.sessions)
  const right = random.chance(0.75)
  const epoch = right ? session.epoch + 1 : random.pick([session.epoch, session.epoch + 2, 0, -1, 2 ** 31 - 1])
  if (right) session.epoch++
  const known = new Learned(session.key, 12_345)
  const body = {
    ...fetchBody(model, random.pick([0, 0, 1, 2])),
    sessionId: random.chance(0.95) ? known : random.pick([0, 7]),
    sessionEpoch: epoch,
    forgottenTopicsData: random.chance(0.75) ? [] : [forgotten(model)],
  }
  const learn: Step['learn'] = (answer, tell) => {
    if (epoch === 0 && answer['sessionId'] !== 0) tell(session.key, answer['sessionId'])
  }
  if (epoch === 0) session.epoch = 0
  return [{ api: Fetch, version, body, learn }]
}

function beginSession(model: Model, version: number): Step {
  const key = `session ${model.sessions.length}`
  model.sessions.push({ key, epoch: 0 })
  const body = { ...fetchBody(model, model.random.pick([1, 2, 3])), sessionEpoch: 0 }
  return {
    api: Fetch,
    version,
    body,
    learn: (answer, tell) => tell(key, answer['sessionId']),
  }
}

function forgotten(model: Model): Body {
  const topic = model.topic()
  return { topic: topic.name, topicId: model.topicId(topic), partitions: [model.partition(topic)] }
}
