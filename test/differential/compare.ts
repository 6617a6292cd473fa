import { type Pairs, UNKNOWN_ID } from './pairs.ts'
import { readBatches } from './records.ts'
import type { Body, Step } from './step.ts'
import type { Outcome } from './side.ts'

/** One field in which the two answers differ. */
export interface Difference {
  /** `topics.partitions.errorCode`: names only, so that one entry of the table speaks of all elements. */
  readonly path: string
  /** The same with the place in each array. */
  readonly at: string
  readonly theirs: unknown
  readonly ours: unknown
}

/** Ids that a server gives out: they differ, but must stand for the same thing wherever they come back. */
const IDS: Readonly<Record<string, string>> = {
  memberId: 'member',
  leader: 'member',
  topicId: 'topic',
  producerId: 'producer',
  sessionId: 'session',
  clusterId: 'cluster',
  port: 'port',
}

/** What is a server's own and says nothing about the request. Each by API and path. */
const OWN: readonly RegExp[] = [
  /^DescribeLogDirs results\.(logDir|totalBytes|usableBytes)$/,
  /^DescribeQuorum topics\.partitions\.(leaderEpoch|highWatermark)$/,
  /^DescribeQuorum topics\.partitions\.currentVoters\.(replicaDirectoryId|logEndOffset|lastFetchTimestamp|lastCaughtUpTimestamp)$/,
  /^ApiVersions finalizedFeaturesEpoch$/,
]

/** Moments: each server has its own, and both or neither must name one. */
const MOMENTS = new Set(['logAppendTimeMs'])

/** By what elements of an array are told apart, the first that they have. Their order says nothing. */
const NAMES = [
  'name',
  'topic',
  'topicName',
  'resourceName',
  'feature',
  'groupId',
  'key',
  'metadata',
  'memberMetadata',
  'groupInstanceId',
]
const NUMBERS = [
  'partitionIndex',
  'partition',
  'partitionId',
  'index',
  'nodeId',
  'brokerId',
  'apiKey',
  'replicaId',
  'resourceType',
]

export function compareOutcomes(
  step: Step,
  theirs: Outcome,
  ours: Outcome,
  pairs: Pairs,
  prefix: string,
): Difference[] {
  const [one, other] = [describe(theirs), describe(ours)]
  if (one !== other) return [{ path: 'outcome', at: 'outcome', theirs: one, ours: other }]
  if (theirs.answer === undefined || ours.answer === undefined) return []
  const comparison = new Comparison(step, pairs, prefix)
  comparison.compare('', '', theirs.answer, ours.answer)
  return comparison.found
}

function describe({ kind, error }: Outcome): string {
  return kind === 'unreadable' ? `unreadable: ${error}` : kind
}

interface Keyed {
  readonly item: unknown
  readonly key: string
  /** Its key is another's too: which of Kafka's stands for which of ours is not known. */
  readonly isOneOfMany: boolean
}

class Comparison {
  readonly found: Difference[] = []
  readonly #step: Step
  readonly #pairs: Pairs
  readonly #prefix: string
  /** Inside of elements that nothing tells apart: ids that are new make no pair here. */
  #isVague = false

  constructor(step: Step, pairs: Pairs, prefix: string) {
    this.#step = step
    this.#pairs = pairs
    this.#prefix = prefix
  }

  compare(path: string, at: string, theirs: unknown, ours: unknown): void {
    if (OWN.some((own) => own.test(`${this.#step.api.name} ${path}`))) return
    const field = path.slice(path.lastIndexOf('.') + 1)
    if (field === 'records' && typeof theirs !== 'number') return this.#compareRecords(path, at, theirs, ours)
    if (Array.isArray(theirs) && Array.isArray(ours)) return this.#compareArrays(path, at, theirs, ours)
    if (isStruct(theirs) && isStruct(ours)) return this.#compareStructs(path, at, theirs, ours)
    if (!this.#same(field, theirs, ours)) this.found.push({ path, at, theirs, ours })
  }

  #same(field: string, theirs: unknown, ours: unknown): boolean {
    if (Buffer.isBuffer(theirs) && Buffer.isBuffer(ours)) return theirs.equals(ours)
    // The words are each server's own, and we may have some where Kafka has none.
    if (/errormessage$|^documentation$/i.test(field)) return theirs === null || theirs === '' || Boolean(ours)
    if (MOMENTS.has(field)) return Number(theirs) > 0 === Number(ours) > 0
    const kind = IDS[field]
    if (kind === undefined) return theirs === ours
    return this.#isVague ? this.#pairs.mayMatch(kind, theirs, ours) : this.#pairs.match(kind, theirs, ours)
  }

  #compareStructs(path: string, at: string, theirs: Body, ours: Body): void {
    for (const name of Object.keys(theirs)) {
      this.compare(path === '' ? name : `${path}.${name}`, `${at}.${name}`, theirs[name], ours[name])
    }
  }

  #compareRecords(path: string, at: string, theirs: unknown, ours: unknown): void {
    if (theirs === null || ours === null) {
      if (theirs !== ours) this.found.push({ path, at, theirs, ours })
      return
    }
    this.#compareArrays(`${path}.batch`, at, readBatches(theirs as Buffer[]), readBatches(ours as Buffer[]))
  }

  /** Elements are compared with those of the same identity; one that only one side has is a difference of its own. */
  #compareArrays(path: string, at: string, theirs: readonly unknown[], ours: readonly unknown[]): void {
    const [left, right] = [this.#inOrder(theirs, false), this.#inOrder(ours, true)]
    for (let [i, j] = [0, 0]; i < left.length || j < right.length; ) {
      const [one, other] = [left[i], right[j]]
      const where = `${at}[${(one ?? other)?.key}]`
      if (other === undefined || (one !== undefined && one.key < other.key)) {
        this.found.push({ path: `${path}[]`, at: where, theirs: one?.item, ours: undefined })
        i++
      } else if (one === undefined || one.key > other.key) {
        this.found.push({ path: `${path}[]`, at: where, theirs: undefined, ours: other.item })
        j++
      } else {
        this.#compareElements(path, where, one, other)
        i++
        j++
      }
    }
  }

  #compareElements(path: string, at: string, theirs: Keyed, ours: Keyed): void {
    const outside = this.#isVague
    this.#isVague ||= theirs.isOneOfMany || ours.isOneOfMany
    this.compare(path, at, theirs.item, ours.item)
    this.#isVague = outside
  }

  /** Without what other sequences left, and sorted by what tells elements apart: by nothing in arrays of plain values. */
  #inOrder(items: readonly unknown[], ours: boolean): Keyed[] {
    const keyed = this.#regrouped(items)
      .filter((item) => this.#concerns(item))
      .map((item, index) => ({ item, key: isStruct(item) ? this.#identity(item, ours) : String(index + 2 ** 33) }))
    const times = Map.groupBy(keyed, ({ key }) => key)
    return keyed
      .map((each) => ({ ...each, isOneOfMany: times.get(each.key)?.length !== 1 }))
      .sort((a, b) => inOrder(a.key, b.key) || inOrder(restOf(a), restOf(b)))
  }

  /** A topic of which an answer to Fetch speaks in several places, once: where a server begins anew is its own. */
  #regrouped(items: readonly unknown[]): readonly unknown[] {
    if (this.#step.api.name !== 'Fetch' || !items.every((item) => isStruct(item) && 'topicId' in item)) return items
    const topics = items as readonly Body[]
    const together = Map.groupBy(topics, ({ topic, topicId }) => `${topic} ${topicId}`)
    return [...together.values()].map((same) => ({
      ...same[0],
      partitions: same.flatMap((each) => each['partitions']),
    }))
  }

  #identity(item: Body, ours: boolean): string {
    const names = NAMES.filter((name) => name in item).map((name) => textOf(item[name]))
    const numbers = NUMBERS.filter((name) => typeof item[name] === 'number').map((name) =>
      String(Number(item[name]) + 2 ** 33),
    )
    const ids = Object.entries(IDS)
      .filter(([name]) => name in item)
      .map(([name, kind]) => this.#pairs.name(kind, item[name], ours))
    return [...names, ...numbers, ...ids].join(' ')
  }

  /** Listings of all there is hold what the sequences before left behind, and the harness's own. */
  #concerns(item: unknown): boolean {
    if (!LISTINGS.has(this.#step.api.name) || !isStruct(item)) return true
    const name = item['name'] ?? item['groupId'] ?? item['resourceName']
    if (typeof name !== 'string' || name.startsWith(this.#prefix)) return true
    return JSON.stringify(this.#step.body).includes(JSON.stringify(name))
  }
}

/** Answers that may speak of everything on the server. */
const LISTINGS = new Set([
  'Metadata',
  'DescribeLogDirs',
  'ListGroups',
  'ListConfigResources',
  'ListPartitionReassignments',
  'DescribeTopicPartitions',
  'ElectLeaders',
])

function inOrder(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** Orders elements of one key: what was asked for twice by its error, and what has no known id by all that it holds but for ids. */
function restOf({ item, key }: Keyed): string {
  if (!isStruct(item)) return ''
  if (!key.includes(UNKNOWN_ID)) return String(item['errorCode'] ?? 0)
  return JSON.stringify(item, (name, value: unknown) => (name in IDS ? null : value))
}

function textOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('hex') : String(value)
}

function isStruct(value: unknown): value is Body {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && !Buffer.isBuffer(value)
}
