import assert from 'node:assert/strict'
import { Random } from '../base/random.ts'
import type { TopicId } from '../model/ids.ts'
import { NO_TOPIC_ID } from '../model/ids.ts'
import type { Outcome, Ticket } from '../model/shard.ts'
import { errorName } from '../protocol/errors.ts'
import { type Command, scenarios } from '../testing/datadriven.ts'
import { decodeRecord, encodeRecord } from './record-codec.ts'
import type { GroupRecord } from './records.ts'
import { OutlookBook, type PartitionOutlook } from './outlook-book.ts'
import type { Caller, GroupCall, GroupRequest, GroupResponse } from './requests.ts'
import { GroupShard } from './shard.ts'
import { DEFAULT_GROUP_CONFIG, type GroupConfig } from './types.ts'

/** A shard with a log of its own, on which everything is committed at once, and a clock that the scenario moves. */
class Scene {
  #config: GroupConfig = { ...DEFAULT_GROUP_CONFIG, initialRebalanceDelayMs: 0 }
  #book = new OutlookBook()
  #shard = new GroupShard(this.#config, new Random(1), this.#book)
  readonly #log: { key: Buffer; value: Buffer | null; producerId: number | null }[] = []
  #nowMs = 1000
  #refusal: number | null = null
  #ticket: Ticket = 0
  readonly #waiting = new Set<Ticket>()
  /** Member ids are random; a scenario knows them as m1, m2, … in the order in which they appear. */
  readonly #names = new Map<string, string>()
  readonly #ids = new Map<string, string>()

  constructor() {
    this.#take(this.#shard.loaded(this.#moment()))
  }

  #moment() {
    const wallMs = 1_700_000_000_000 + this.#nowMs
    return { nowMs: this.#nowMs, wallMs, deletionMs: wallMs, refusal: this.#refusal }
  }

  run(command: Command): string {
    switch (command.name) {
      case 'config':
        return this.#configure(command)
      case 'refuse':
        this.#refusal = command.words[0] === 'off' ? null : 15
        return ''
      case 'advance':
        return this.#advance(command.number('ms'))
      case 'dump':
        return this.#rename(this.#shard.dump())
      case 'reload':
        return this.#reload()
      case 'transaction':
        return this.#transaction(command)
      default:
        return this.#call(command)
    }
  }

  #configure(command: Command): string {
    this.#config = {
      ...this.#config,
      initialRebalanceDelayMs: command.number('initial', this.#config.initialRebalanceDelayMs),
      groupSizeMax: command.number('size', this.#config.groupSizeMax),
      offsetRetentionMs: command.number('retention', this.#config.offsetRetentionMs),
      expiryIntervalMs: command.number('expiry', this.#config.expiryIntervalMs),
      recordBytesMax: command.number('bytes', this.#config.recordBytesMax),
    }
    this.#shard.config = this.#config
    return ''
  }

  /** Time passes, deadline by deadline. */
  #advance(ms: number): string {
    const endMs = this.#nowMs + ms
    const lines: string[] = []
    for (;;) {
      const deadlineMs = this.#shard.nextDeadlineMs()
      if (deadlineMs === null || deadlineMs > endMs) break
      assert.ok(deadlineMs >= this.#nowMs, 'a deadline in the past')
      this.#nowMs = deadlineMs
      const said = this.#take(this.#shard.tick(this.#moment()))
      if (said !== '') lines.push(`after ${ms - (endMs - this.#nowMs)} ms:\n${said}`)
    }
    this.#nowMs = endMs
    return lines.join('\n')
  }

  /** Another node takes over: nothing is left but the log. */
  #reload(): string {
    this.#shard = new GroupShard(this.#config, new Random(this.#log.length + 2), this.#book)
    for (const [offset, { key, value, producerId }] of this.#log.entries()) {
      this.#shard.replay(decodeRecord(key, value), { offset, producerId })
    }
    return this.#take(this.#shard.loaded(this.#moment())) || this.#rename(this.#shard.dump())
  }

  /** Offsets within a transaction, and its end; requests for these come with the transaction coordinator. */
  #transaction(command: Command): string {
    const producerId = command.number('producer')
    if (command.words.length > 0) {
      const [outcome] = command.words
      this.#shard.replayTransactionEnd(producerId, outcome === 'commit', this.#log.length)
      return ''
    }
    const record: GroupRecord = {
      type: 'offset',
      groupId: command.text('group', 'g'),
      topic: 'orders',
      partition: 0,
      value: {
        offset: command.number('offset'),
        leaderEpoch: -1,
        metadata: '',
        commitTimestampMs: 0,
        expireTimestampMs: -1,
        topicId: NO_TOPIC_ID,
      },
    }
    this.#shard.replay(record, { offset: this.#log.length, producerId })
    this.#log.push({ ...encodeRecord(record), producerId })
    return ''
  }

  #call(command: Command): string {
    const type = command.name as GroupCall
    const caller: Caller = {
      apiVersion: command.number('version', type === 'sync' ? 3 : 9),
      clientId: command.text('client', 'client'),
      clientHost: '/10.0.0.1',
    }
    const ticket = ++this.#ticket
    this.#waiting.add(ticket)
    const request = { type, caller, body: this.#body(type, command) } as GroupRequest
    return this.#take(this.#shard.handle(request, ticket, this.#moment())) || 'parked'
  }

  #body(type: GroupCall, command: Command): unknown {
    const groupId = command.text('group', 'g')
    const memberId = this.#ids.get(command.text('member', '')) ?? command.text('member', '')
    const groupInstanceId = command.has('instance') ? command.text('instance') : null
    const generationId = command.number('generation', -1)
    switch (type) {
      case 'join':
        return {
          groupId,
          memberId,
          groupInstanceId,
          sessionTimeoutMs: command.number('session', 10_000),
          rebalanceTimeoutMs: command.number('rebalance', 30_000),
          protocolType: command.text('type', 'consumer'),
          protocols: command.text('protocols', 'range:orders').split(',').map(protocol),
          reason: null,
        }
      case 'sync':
        return {
          groupId,
          memberId,
          groupInstanceId,
          generationId,
          protocolType: command.has('type') ? command.text('type') : null,
          protocolName: command.has('protocol') ? command.text('protocol') : null,
          assignments: command.has('assign')
            ? command
                .text('assign')
                .split(',')
                .map((text) => this.#assignment(text))
            : [],
        }
      case 'heartbeat':
        return { groupId, memberId, groupInstanceId, generationId }
      case 'leave': {
        const members = command.has('members') ? command.text('members').split(',') : ['']
        return {
          groupId,
          memberId: '',
          members: members.map((name) => ({ memberId: this.#ids.get(name) ?? name, groupInstanceId, reason: null })),
        }
      }
      case 'commit-offsets':
        return {
          groupId,
          memberId,
          groupInstanceId,
          generationIdOrMemberEpoch: generationId,
          retentionTimeMs: command.number('retention', -1),
          topics: [
            topicOf(command, {
              committedOffset: command.number('offset'),
              committedMetadata: command.text('metadata', ''),
            }),
          ],
        }
      case 'fetch-offsets':
        return {
          groupId,
          memberId: null,
          memberEpoch: -1,
          requireStable: command.has('stable'),
          topics: command.has('all')
            ? null
            : [{ ...topicOf(command, {}), partitionIndexes: [command.number('partition', 0)] }],
        }
      case 'delete-offsets':
        return { groupId, topics: [topicOf(command, {})] }
      case 'list':
        return {
          statesFilter: command.has('states') ? command.text('states').split(',') : [],
          typesFilter: command.has('types') ? command.text('types').split(',') : [],
        }
      case 'describe':
      case 'delete-groups':
        return command.text('groups', 'g').split(',')
      case 'forget-topics':
        return new Map([[command.text('topic'), command.text('id', NO_TOPIC_ID)]])
      case 'outlooks':
        return this.#book.update([outlook(command, this.#nowMs)])
      case 'standings':
        return {
          groupIds: command.has('groups') ? command.text('groups').split(',') : null,
          onlyAtRisk: command.has('risk'),
        }
    }
  }

  #assignment(text: string) {
    const [name = '', assignment = ''] = text.split(':')
    return { memberId: this.#ids.get(name) ?? name, assignment: Buffer.from(assignment) }
  }

  /** Writes and replays the records through their bytes, then says what came of the input. */
  #take(outcome: Outcome<GroupRecord, GroupResponse>): string {
    const lines: string[] = []
    for (const { response } of outcome.replies) this.#learn(response)
    for (const record of outcome.records) {
      const { key, value } = encodeRecord(record)
      assert.equal(this.#refusal, null, 'a record although the log takes none')
      this.#shard.replay(decodeRecord(key, value), { offset: this.#log.length, producerId: null })
      this.#log.push({ key, value, producerId: null })
      lines.push(`record ${this.#rename(printRecord(record))}`)
    }
    for (const { ticket, response } of outcome.replies) {
      assert.ok(this.#waiting.delete(ticket), `an answer for ${ticket}, which does not wait`)
      const text = JSON.stringify(shorten(response)).replaceAll('"', '').replaceAll(',', ' ')
      lines.push(`reply ${ticket} ${this.#rename(text)}`)
    }
    for (const { level, message, fields } of outcome.notes) {
      if (level !== 'warn' && level !== 'error' && !message.startsWith('A group reads again')) continue
      const values = Object.entries(fields).map(([name, value]) => `${name}=${value}`)
      lines.push(`${level}: ${message}: ${this.#rename(values.join(' '))}`)
    }
    return lines.join('\n')
  }

  #learn(response: GroupResponse): void {
    if (response === null || !('memberId' in response)) return
    const { memberId } = response
    if (!/-[0-9a-f]{8}-/.test(memberId) || this.#names.has(memberId)) return
    const name = `m${this.#names.size + 1}`
    this.#names.set(memberId, name)
    this.#ids.set(name, memberId)
  }

  #rename(text: string): string {
    let renamed = text
    for (const [id, name] of this.#names) renamed = renamed.replaceAll(id, name)
    return renamed
  }
}

/** `steps=100:60000,200:90000`: all before 100 goes in a minute. */
function outlook(command: Command, nowMs: number): PartitionOutlook {
  const steps = command.has('steps') ? command.text('steps').split(',') : []
  return {
    topic: command.text('topic', 'orders'),
    topicId: command.text('id', NO_TOPIC_ID) as TopicId,
    partition: command.number('partition', 0),
    leaderEpoch: command.number('epoch', 0),
    startOffset: command.number('start', 0),
    steps: steps.map((step) => {
      const [endOffset, leftMs] = step.split(':').map(Number) as [number, number]
      return { endOffset, dueMs: nowMs + leftMs }
    }),
  }
}

/** `range:orders+payments`: a protocol with a subscription in the consumer's own format; without topics, no such thing. */
function protocol(text: string) {
  const [name = '', topics] = text.split(':')
  if (topics === undefined) return { name, metadata: Buffer.from('x') }
  const pieces = [Buffer.from([0, 0, 0, 0, 0, topics.split('+').length])]
  for (const topic of topics.split('+')) pieces.push(Buffer.from([0, topic.length]), Buffer.from(topic))
  return { name, metadata: Buffer.concat(pieces) }
}

function topicOf(command: Command, fields: object) {
  const partition = { partitionIndex: command.number('partition', 0), committedLeaderEpoch: -1, ...fields }
  return {
    name: command.text('topic', 'orders'),
    topicId: command.text('id', NO_TOPIC_ID) as TopicId,
    partitions: [partition],
  }
}

function printRecord(record: GroupRecord): string {
  if (record.type === 'offset') {
    const { groupId, topic, partition, value } = record
    return `offset ${groupId} ${topic}-${partition} ${value === null ? 'gone' : `= ${value.offset}`}`
  }
  if (record.type !== 'group') return record.type
  const { groupId, value } = record
  if (value === null) return `group ${groupId} gone`
  const members = value.members.map(({ memberId, assignment }) => `${memberId}:${assignment}`)
  return `group ${groupId} generation=${value.generation} protocol=${value.protocolName} leader=${value.leaderId} members=(${members.join(' ')})`
}

const DULL = new Set(['throttleTimeMs', 'topicId', 'clientHost', 'authorizedOperations', 'protocolType'])

/** What is worth reading: errors by name, bytes as text, no fields that are empty. */
function shorten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shorten)
  if (Buffer.isBuffer(value)) return value.toString('latin1').replace(/[^ -~]/g, '')
  if (typeof value !== 'object' || value === null) return value
  const short: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(value)) {
    if (DULL.has(name) || field === null || field === '' || field === false) continue
    if (Array.isArray(field) && field.length === 0) continue
    if (Buffer.isBuffer(field) && field.length === 0) continue
    if (name === 'errorCode') {
      if (field !== 0) short.error = errorName(field)
    } else short[name] = shorten(field)
  }
  return short
}

scenarios(import.meta.url, () => {
  const scene = new Scene()
  return (command) => scene.run(command)
})
