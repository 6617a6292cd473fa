import type { BrokerSessions } from './broker-sessions.ts'
import { fence, sessionTimeoutMs } from './brokers.ts'
import { brokerConfig, brokerNumber } from './config-view.ts'
import { type Due, NOTHING_DUE } from './decision.ts'
import { changesOf, type Ruling, topicsById } from './elections.ts'
import { raiseInternalCopies } from './internal-topics.ts'
import { NO_LEADER } from '../metadata/records.ts'

/** Kafka's: elections of one batch, so that requests get their turn in between. */
const ELECTIONS_PER_ROUND = 1000

/**
 * What the active controller does without being asked, in order of urgency. Life cycle: that of the shard. Nothing here
 * looks at a partition unless something about the topics or configs has changed or an interval is over, so an idle
 * cluster costs nothing.
 */
export class DueWork {
  readonly #sessions: BrokerSessions
  #balanceAtMs: number
  #uncleanAtMs: number
  /** Configs when leaderless partitions were last looked at: a topic may have been allowed unclean elections since. */
  #uncleanConfigs: unknown = null
  /** Brokers and topics when the copies of the internal topics were last looked at. */
  #copiesOf: readonly [brokers: unknown, topics: unknown] = [null, null]

  constructor(sessions: BrokerSessions, nowMs: number) {
    this.#sessions = sessions
    this.#balanceAtMs = nowMs
    this.#uncleanAtMs = nowMs
  }

  next(context: Ruling, nowMs: number): Due {
    const works = [this.#silence, this.#uncleanElections, this.#internalCopies, this.#preferredLeaders]
    for (const work of works) {
      const due = work.call(this, context, nowMs)
      if (due.records.length > 0) return due
    }
    return NOTHING_DUE
  }

  /** One at a time: where the first one's leaderships go depends on who is still there. */
  #silence(context: Ruling, nowMs: number): Due {
    const timeoutMs = sessionTimeoutMs(context)
    const silent = this.#sessions.silent(context.image, nowMs, timeoutMs)
    // This process's own broker is never silent: it lives and dies with the controller.
    const brokerId = silent.find((each) => each !== context.broker.brokerId)
    const broker = brokerId === undefined ? undefined : context.image.broker(brokerId)
    return broker === undefined ? NOTHING_DUE : fence(context, broker, `not heard for ${timeoutMs} ms`)
  }

  #uncleanElections(context: Ruling, nowMs: number): Due {
    const { image, broker } = context
    const intervalMs = brokerNumber(image, broker, 'unclean.leader.election.interval.ms')
    if (image.configs === this.#uncleanConfigs && nowMs - this.#uncleanAtMs < intervalMs) return NOTHING_DUE
    const due = changesOf(
      context,
      topicsById(context, image.topicIndex.leaderless),
      {},
      ({ leader }, { unclean }) => (leader === NO_LEADER && unclean ? {} : null),
      ELECTIONS_PER_ROUND,
    )
    if (due.records.length < ELECTIONS_PER_ROUND) {
      this.#uncleanAtMs = nowMs
      this.#uncleanConfigs = image.configs
    }
    return due
  }

  #internalCopies(context: Ruling): Due {
    const { brokers, topicsByName } = context.image
    if (brokers === this.#copiesOf[0] && topicsByName === this.#copiesOf[1]) return NOTHING_DUE
    this.#copiesOf = [brokers, topicsByName]
    return raiseInternalCopies(context)
  }

  #preferredLeaders(context: Ruling, nowMs: number): Due {
    const { image, broker } = context
    const intervalMs = brokerNumber(image, broker, 'leader.imbalance.check.interval.seconds') * 1000
    if (nowMs - this.#balanceAtMs < intervalMs) return NOTHING_DUE
    this.#balanceAtMs = nowMs
    if (brokerConfig(image, broker, 'auto.leader.rebalance.enable') !== 'true') return NOTHING_DUE
    const { records, notices } = changesOf(
      context,
      topicsById(context, image.topicIndex.notPreferred),
      {},
      ({ leader, replicas }) => (leader === replicas[0] ? null : { election: 'preferred' }),
      ELECTIONS_PER_ROUND,
    )
    // What is left is looked at again at once.
    if (records.length === ELECTIONS_PER_ROUND) this.#balanceAtMs = nowMs - intervalMs
    if (records.length === 0) return NOTHING_DUE
    const message = 'Leaderships go back to the preferred replicas'
    return { records, notices: [{ level: 'info', message, details: { partitions: records.length } }, ...notices] }
  }
}
