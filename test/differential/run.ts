import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { compareOutcomes, type Difference } from './compare.ts'
import { isRetriable } from '../../src/protocol/errors.ts'
import { explained, isInPlaceOfRefused } from './differences.ts'
import { Pairs } from './pairs.ts'
import { type Asked, groupOf, type Outcome, type Side } from './side.ts'
import type { Body, Step } from './step.ts'
import { FOREIGN_PRODUCERS } from './steps/produce.ts'
import { cleanUp } from './clean-up.ts'

/** Longer than anything may take that does not wait for others. */
const ANSWER_MS = 10_000
/** Kafka never answers what it forgot, and what it does answer has come when the group was passed. */
const FORGOTTEN_MS = 200

export interface Both {
  readonly kafka: Side
  readonly millrace: Side
}

/** A step whose answers differ in ways that the table does not explain. */
export interface Unexplained {
  readonly index: number
  /** Of the step after which it showed: what waits is answered later. */
  readonly shownAt: number
  readonly step: Step
  readonly sent: Body
  readonly differences: readonly Difference[]
  readonly theirs: Outcome
  readonly ours: Outcome
}

export interface SequenceResult {
  readonly requests: number
  readonly unexplained: Unexplained | null
  /** It ended early: what comes after depends on what Kafka chose by chance. */
  readonly hasParted: boolean
}

interface Pending {
  readonly index: number
  readonly step: Step
  readonly theirs: Asked
  readonly ours: Asked
}

/** What changes the metadata: what follows waits until the brokers show it. */
const CHANGES = new Set([
  'CreateTopics',
  'DeleteTopics',
  'CreatePartitions',
  'AlterConfigs',
  'IncrementalAlterConfigs',
  'AlterPartitionReassignments',
])

/** What reads of groups that may not have been written. */
const SHOWS_GROUPS = new Set(['DescribeGroups', 'ListGroups'])

/** Runs the steps on both sides, one after the other, up to the first that differs. */
export async function runSequence(
  both: Both,
  steps: readonly Step[],
  prefix: string,
  used: Set<string>,
): Promise<SequenceResult> {
  const run = new Run(both, prefix, used)
  try {
    for (const [index, step] of steps.entries()) {
      const unexplained = await run.step(index, step)
      if (unexplained !== null || run.hasParted) return { requests: index + 1, unexplained, hasParted: run.hasParted }
    }
    return { requests: steps.length, unexplained: null, hasParted: false }
  } finally {
    await Promise.all([cleanUp(both.kafka), cleanUp(both.millrace)])
  }
}

class Run {
  readonly #both: Both
  readonly #prefix: string
  readonly #used: Set<string>
  readonly #pairs = new Pairs()
  #waiting: Pending[] = []
  #changed = false
  #recordsDeleted = false
  #produceRefused = false
  #at = 0
  /** Of the newest generation of each group: Kafka's and Millrace's, and whether both have others than before. */
  readonly #leaders = new Map<string, { generation: unknown; leaders: readonly unknown[]; isNew: boolean }>()
  /** From here on the two may go different ways. */
  hasParted = false

  constructor(both: Both, prefix: string, used: Set<string>) {
    this.#both = both
    this.#prefix = prefix
    this.#used = used
    for (const id of FOREIGN_PRODUCERS) this.#pairs.match('producer', id, id)
  }

  async step(index: number, step: Step): Promise<Unexplained | null> {
    this.#at = index
    const { kafka, millrace } = this.#both
    if (this.#changed) await Promise.all([kafka.catchUp(), millrace.catchUp()])
    this.#changed = CHANGES.has(step.api.name)
    if (SHOWS_GROUPS.has(step.api.name)) await Promise.all([kafka.showGroups(), millrace.showGroups()])
    const isFarewell = step.api.name === 'LeaveGroup' && (await kafka.standsStill(groupOf(step)))
    const send = (side: Side) => (step.waits === true ? side.sendToGroup(step) : side.send(step))
    const [theirs, ours] = await Promise.all([send(kafka), send(millrace)])
    const pending = { index, step, theirs, ours }
    if (step.waits === true) {
      this.#waiting.push(pending)
      return this.#settled()
    }
    const unexplained = await this.#judge(pending, ANSWER_MS)
    if (unexplained !== null) return unexplained
    if (isFarewell) await Promise.all([kafka, millrace].map((side) => side.seeOff(groupOf(step))))
    await this.#passGroups()
    return this.#settled()
  }

  /** The answers that the step has set free are sent. */
  async #passGroups(): Promise<void> {
    for (const groupId of new Set(this.#waiting.map(({ step }) => groupOf(step)))) {
      await Promise.all([this.#both.kafka.passGroup(groupId), this.#both.millrace.passGroup(groupId)])
    }
  }

  /** Judges what has been answered by now of what may wait. */
  async #settled(): Promise<Unexplained | null> {
    if (this.#waiting.length === 0) return null
    // Answers that were sent are here: this returns when all connections have been looked at.
    await turn()
    for (const pending of [...this.#waiting]) {
      if (!pending.theirs.settled && !pending.ours.settled) continue
      this.#waiting = this.#waiting.filter((other) => other !== pending)
      const unexplained = await this.#judge(pending, FORGOTTEN_MS)
      if (unexplained !== null) return unexplained
    }
    return null
  }

  async #judge(pending: Pending, patienceMs: number): Promise<Unexplained | null> {
    const { index, step } = pending
    const [theirs, ours] = await Promise.all([within(pending.theirs, patienceMs), within(pending.ours, ANSWER_MS)])
    let isInPlace = false
    const differences = compareOutcomes(step, theirs, ours, this.#pairs, this.#prefix).filter((difference) => {
      const answers = { sent: ours.sent, answer: theirs.answer, ourAnswer: ours.answer }
      const earlier = { recordsDeleted: this.#recordsDeleted, produceRefused: this.#produceRefused }
      const found = { step, ...answers, ...earlier, ...difference }
      const entry = explained(found)
      if (entry !== null) this.#used.add(entry)
      isInPlace ||= isInPlaceOfRefused(found)
      return entry === null
    })
    this.#recordsDeleted ||= step.api.name === 'DeleteRecords'
    this.#produceRefused ||= step.api.name === 'Produce' && isRefusedForNow(ours)
    learn(step, theirs, this.#both.kafka)
    learn(step, ours, this.#both.millrace)
    const follows = this.#leaderChanged(step, theirs, ours)
    if (isInPlace && differences.every(({ path }) => path.startsWith('responses.partitionResponses.'))) {
      this.hasParted = true
      return null
    }
    if (differences.length === 0) return null
    if (follows && differences.every(({ path }) => /^(leader|memberId|members.*)$/.test(path))) {
      this.hasParted = true
      return null
    }
    return { index, shownAt: this.#at, step, sent: theirs.sent, differences, theirs, ours }
  }

  /**
   * Both groups have another leader than before. When a leader has gone, Kafka makes that member leader which comes first in a hash map
   * keyed by random ids: any. (Millrace: the one that has been there longest.)
   */
  #leaderChanged(step: Step, theirs: Outcome, ours: Outcome): boolean {
    if (step.api.name !== 'JoinGroup' || theirs.answer?.['errorCode'] !== 0 || ours.answer?.['errorCode'] !== 0)
      return false
    const known = this.#leaders.get(groupOf(step))
    const generation = theirs.answer['generationId']
    if (known !== undefined && known.generation === generation) return known.isNew
    const leaders = [theirs.answer['leader'], ours.answer['leader']]
    const isNew = known !== undefined && leaders.every((leader, side) => leader !== known.leaders[side])
    this.#leaders.set(groupOf(step), { generation, leaders, isNew })
    return isNew
  }
}

/** One of its partitions has an error after which a client sends the same again. */
function isRefusedForNow({ answer }: Outcome): boolean {
  const topics = (answer?.['responses'] ?? []) as { partitionResponses: { errorCode: number }[] }[]
  return topics.some(({ partitionResponses }) => partitionResponses.some(({ errorCode }) => isRetriable(errorCode)))
}

function learn(step: Step, { answer }: Outcome, side: Side): void {
  if (answer !== undefined) step.learn?.(answer, (key, value) => side.memory.set(key, value))
}

async function within(asked: Asked, ms: number): Promise<Outcome> {
  const late = new AbortController()
  const timeout = sleep(ms, null, { signal: late.signal }).catch(() => null)
  const outcome = await Promise.race([asked.outcome, timeout])
  late.abort()
  return outcome ?? { sent: {}, kind: 'no answer' }
}
