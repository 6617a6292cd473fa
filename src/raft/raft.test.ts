import { assert } from '../base/assert.ts'
import { Random } from '../base/random.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { METADATA_TOPIC, METADATA_TOPIC_ID } from '../model/ids.ts'
import { type Command, scenarios } from '../testing/datadriven.ts'
import { directoryOf, endpointOf, TIMEOUTS, versionOf, voterOf } from './chaos/nodes.ts'
import {
  beginQuorumEpochRequest,
  endQuorumEpochRequest,
  fetchRequest,
  fetchSnapshotRequest,
  voteRequest,
} from './messages.ts'
import { ModelLog } from './chaos/model-log.ts'
import { printed } from './printed.ts'
import { Raft } from './raft.ts'
import {
  type Effect,
  type InboundRequest,
  type InboundResponse,
  type Input,
  type LogPosition,
  NO_DIRECTORY,
  NOBODY,
  type PlacedRecord,
  type QuorumRecord,
  type QuorumState,
  type ReplicaKey,
} from './types.ts'

const CLUSTER = 'cluster'

scenarios(import.meta.url, () => {
  const scripted = new Scripted()
  return (command) => scripted.run(command)
})

/**
 * One machine whose peers are played by a scenario. Effects on log and vote file are performed and reported at once, as a
 * driver does, except that flushing is a command.
 */
class Scripted {
  #raft: Raft | null = null
  #log = new ModelLog()
  #self: ReplicaKey = { id: 1, directoryId: directoryOf(1) }
  #state: QuorumState | null = null
  #voters: readonly number[] = []
  #canVote = true
  #nowMs = 0
  #nextTicket = 1
  /** Of the last request to each peer. */
  readonly #asked = new Map<number, { readonly correlationId: number; readonly api: string }>()
  readonly #lines: string[] = []

  run(command: Command): string {
    this.#lines.length = 0
    this.#nowMs = command.number('now', this.#nowMs)
    if (command.name === 'start') this.#begin(command)
    else if (command.name === 'restart') this.#start()
    else this.#step(this.#inputOf(command))
    this.#lines.push(this.#raft?.dump() ?? 'down')
    return this.#lines.join('\n')
  }

  #begin(command: Command): void {
    const id = command.number('id', 1)
    this.#self = { id, directoryId: command.text('directory', directoryOf(id)) }
    this.#voters = command.numbers('voters')
    this.#canVote = command.text('can-vote', 'yes') === 'yes'
    this.#log = new ModelLog()
    const voters = this.#voters.map((each) => voterOf({ id: each, directoryId: directoryOf(each) }))
    const kraftVersion = command.number('kraft-version', 1)
    const snapshot = command.has('snapshot') ? positionOf(command.text('snapshot')) : { offset: 0, epoch: 0 }
    if (kraftVersion > 0) this.#log.restartWith({ id: snapshot, kraftVersion, voters })
    this.#fill(command.text('log', ''))
    this.#log.flush()
    this.#state = command.has('state') ? stateOf(command.text('state')) : null
    this.#start(kraftVersion === 0 ? voters.map((voter) => ({ ...voter, voterDirectoryId: NO_DIRECTORY })) : [])
  }

  /** `3@1,5@2`: records of epoch 1 up to offset 3, of epoch 2 up to 5. */
  #fill(log: string): void {
    for (const { offset, epoch } of log.split(',').filter(Boolean).map(positionOf)) {
      while (this.#log.endOffset < offset) this.#appendPlain(epoch)
    }
  }

  #start(staticVoters: ReturnType<typeof voterOf>[] = []): void {
    this.#asked.clear()
    const log = this.#log
    this.#raft = new Raft({
      ...TIMEOUTS,
      clusterId: CLUSTER,
      self: this.#self,
      endpoints: [endpointOf(this.#self.id)],
      kraftVersions: { minSupportedVersion: 0, maxSupportedVersion: 1 },
      listener: 'CONTROLLER',
      bootstrap: [{ host: 'bootstrap', port: 9093 }],
      canVote: this.#canVote,
      strangerId: 'stranger',
      fetchBytesMax: 100,
      snapshotBytesMax: 100,
      log,
      durableOffset: log.endOffset,
      highWatermark: log.latestSnapshot?.offset ?? 0,
      staticVoters,
      quorumRecords: log.quorumRecords(),
      state: this.#state,
      random: new Random(1),
      nowMs: this.#nowMs,
    })
    this.#perform(this.#raft.start())
  }

  #step(input: Input): void {
    assert(this.#raft !== null, 'a scenario begins with start')
    this.#perform(this.#raft.step(input))
  }

  #perform(effects: readonly Effect[]): void {
    let followUp: Input | null = null
    for (const effect of effects) {
      this.#lines.push(printed(effect))
      followUp = this.#performOne(effect) ?? followUp
    }
    if (followUp !== null) this.#step(followUp)
  }

  #performOne(effect: Effect): Input | null {
    const log = this.#log
    const nowMs = this.#nowMs
    switch (effect.type) {
      case 'persist':
        this.#state = effect.state
        return null
      case 'send':
        this.#asked.set(effect.to.nodeId, { correlationId: effect.correlationId, api: effect.request.api })
        return null
      case 'append': {
        const quorumRecords = effect.records.map((record) => this.#append(effect.epoch, record))
        return { type: 'appended', nowMs, endOffset: log.endOffset, quorumRecords }
      }
      case 'append-fetched': {
        const quorumRecords: PlacedRecord[] = []
        for (const buffer of effect.records) {
          const { epochs, voters } = JSON.parse(buffer.toString()) as { epochs: number[]; voters: number[] | null }
          for (const epoch of epochs) this.#appendPlain(epoch)
          if (voters !== null) quorumRecords.push(this.#append(epochs.at(-1) ?? effect.epoch, votersRecord(voters)))
        }
        return { type: 'appended', nowMs, endOffset: log.endOffset, quorumRecords }
      }
      case 'truncate':
        log.truncateTo(effect.offset)
        return { type: 'truncated', nowMs }
      case 'write-snapshot': {
        if (!effect.isLast) return null
        const voters = this.#voters.map((id) => voterOf({ id, directoryId: directoryOf(id) }))
        log.restartWith({ id: effect.id, kraftVersion: 1, voters })
        return { type: 'snapshot-installed', nowMs, id: effect.id, kraftVersion: 1, voters }
      }
      default:
        return null
    }
  }

  #append(epoch: number, record: QuorumRecord): PlacedRecord {
    return { offset: this.#log.append({ epoch, value: record }), record }
  }

  #appendPlain(epoch: number): void {
    this.#log.append({ epoch, value: this.#log.endOffset })
  }

  #inputOf(command: Command): Input {
    const nowMs = this.#nowMs
    switch (command.name) {
      case 'tick':
      case 'shut-down':
        return { type: command.name, nowMs }
      case 'resign':
        return { type: 'resign', nowMs, epoch: command.number('epoch') }
      case 'flush':
        this.#log.flush(command.number('to', this.#log.endOffset))
        return { type: 'flushed', nowMs, durableOffset: this.#log.durableOffset }
      case 'append':
        for (let count = command.number('count', 1); count > 0; count--) this.#appendPlain(command.number('epoch'))
        return { type: 'appended', nowMs, endOffset: this.#log.endOffset, quorumRecords: [] }
      case 'snapshot': {
        const snapshot = this.#log.snapshotAt(command.number('at'))
        this.#log.startWith(snapshot)
        return { type: 'snapshot-created', nowMs, id: snapshot.id }
      }
      case 'refuse-snapshot':
        return { type: 'snapshot-refused', nowMs, id: positionOf(command.text('id')) }
      case 'failed':
        return {
          type: 'request-failed',
          nowMs,
          correlationId: this.#askedOf(command).correlationId,
          isRefused: command.text('refused', 'no') === 'yes',
        }
      case 'answer': {
        const { correlationId: last, api } = this.#askedOf(command)
        // `again`: the answer before comes a second time.
        const correlationId = command.words.includes('again') ? last - 1 : last
        return { type: 'response', nowMs, correlationId, response: responseOf(command, api) }
      }
      default: {
        const request = this.#requestOf(command)
        return {
          type: 'request',
          nowMs,
          ticket: this.#nextTicket++,
          version: versionOf(request),
          request,
        }
      }
    }
  }

  #askedOf(command: Command): { readonly correlationId: number; readonly api: string } {
    const asked = this.#asked.get(command.number('from'))
    assert(asked !== undefined, `nothing was asked of ${command.text('from')}`)
    return asked
  }

  #requestOf(command: Command): InboundRequest {
    const clusterId = command.text('cluster', CLUSTER)
    const from = command.number('from', -1)
    const sender = { id: from, directoryId: command.text('directory', directoryOf(from)) }
    const epoch = command.number('epoch', 0)
    const endpoints = [endpointOf(from)]
    const voter = { id: this.#self.id, directoryId: command.text('voter', this.#self.directoryId) }
    const position = command.has('log') ? positionOf(command.text('log')) : { offset: 0, epoch: 0 }
    switch (command.name) {
      case 'pre-vote':
      case 'vote': {
        const preVote = command.name === 'pre-vote'
        const body = voteRequest({ clusterId, epoch, candidate: sender, voter, log: position, preVote })
        return { api: 'Vote', body }
      }
      case 'begin':
        return {
          api: 'BeginQuorumEpoch',
          body: beginQuorumEpochRequest({ clusterId, epoch, leaderId: from, voter, endpoints }),
        }
      case 'end': {
        const successors = command.numbers('successors').map((id) => ({ id, directoryId: directoryOf(id) }))
        return {
          api: 'EndQuorumEpoch',
          body: endQuorumEpochRequest({ clusterId, epoch, leaderId: from, successors, endpoints }),
        }
      }
      case 'fetch': {
        const maxWaitMs = command.number('wait', 500)
        const highWatermark = command.number('hw', -1)
        const fields = { clusterId, epoch, self: sender, log: position, logStartOffset: 0, highWatermark }
        return { api: 'Fetch', body: fetchRequest({ ...fields, maxBytes: 100, maxWaitMs }) }
      }
      case 'fetch-snapshot': {
        const id = positionOf(command.text('id'))
        const at = command.number('position', 0)
        const fields = { clusterId, epoch, self: sender, id, position: at, maxBytes: 4 }
        return { api: 'FetchSnapshot', body: fetchSnapshotRequest(fields) }
      }
      default:
        return changeOf(command, clusterId)
    }
  }
}

/** `add`, `remove`, `update` of a voter. */
function changeOf(command: Command, clusterId: string): InboundRequest {
  const id = command.number('voter')
  const named = { clusterId, voterId: id, voterDirectoryId: command.text('directory', directoryOf(id)) }
  const listeners = [{ ...endpointOf(id), port: command.number('port', 9093) }]
  switch (command.name) {
    case 'add': {
      const ackWhenCommitted = command.text('ack', 'committed') === 'committed'
      return { api: 'AddRaftVoter', body: { ...named, timeoutMs: 1000, listeners, ackWhenCommitted } }
    }
    case 'remove':
      return { api: 'RemoveRaftVoter', body: named }
    case 'update': {
      const isElsewhere = command.text('from-elsewhere', 'no') === 'yes'
      const kRaftVersionFeature = { minSupportedVersion: 0, maxSupportedVersion: command.number('max', 1) }
      const body = {
        ...named,
        currentLeaderEpoch: command.number('epoch'),
        listeners,
        kRaftVersionFeature,
        isElsewhere,
      }
      return { api: 'UpdateRaftVoter', body }
    }
    default:
      throw new Error(`unknown command ${command.name}`)
  }
}

/** `answer from=2 epoch=3 leader=2`, with what the API needs besides. */
function responseOf(command: Command, api: string): InboundResponse {
  const leaderId = command.number('leader', NOBODY)
  const errorCode = ErrorCode[command.text('error', 'NONE') as keyof typeof ErrorCode]
  const header = { errorCode, leaderId, leaderEpoch: command.number('epoch', 0) }
  const nodeEndpoints = leaderId < 0 ? [] : [{ nodeId: leaderId, host: endpointOf(leaderId).host, port: 9093 }]
  const partition = { partitionIndex: 0, ...header }
  const topics = [{ topicName: METADATA_TOPIC, partitions: [partition] }]
  const none = ErrorCode.NONE
  switch (api) {
    case 'Vote': {
      const voted = { ...partition, voteGranted: command.words.includes('granted') }
      const body = { errorCode: none, topics: [{ topicName: METADATA_TOPIC, partitions: [voted] }], nodeEndpoints }
      return { api, body }
    }
    case 'BeginQuorumEpoch':
    case 'EndQuorumEpoch':
      return { api, body: { errorCode: none, topics, nodeEndpoints } }
    case 'Fetch':
      return { api, body: { ...fetchedOf(command, header), nodeEndpoints: nodeEndpoints.map(withRack) } }
    case 'FetchSnapshot': {
      const id = positionOf(command.text('id', '-1@-1'))
      const chunk = Buffer.alloc(command.number('bytes', 0))
      const fetched = {
        index: 0,
        errorCode,
        snapshotId: { endOffset: id.offset, epoch: id.epoch },
        currentLeader: { leaderId, leaderEpoch: header.leaderEpoch },
        size: command.number('size', 0),
        position: command.number('position', 0),
        unalignedRecords: [chunk],
      }
      const named = [{ name: METADATA_TOPIC, partitions: [fetched] }]
      return { api, body: { throttleTimeMs: 0, errorCode: none, topics: named, nodeEndpoints } }
    }
    case 'UpdateRaftVoter': {
      const currentLeader = { leaderId, leaderEpoch: header.leaderEpoch, host: '', port: 0 }
      return { api, body: { throttleTimeMs: 0, errorCode, currentLeader } }
    }
    default:
      return {
        api: 'ApiVersions',
        body: {
          errorCode,
          apiKeys: [],
          throttleTimeMs: 0,
          supportedFeatures: [{ name: 'kraft.version', minVersion: 0, maxVersion: command.number('max', 1) }],
          finalizedFeaturesEpoch: -1,
          finalizedFeatures: [],
          zkMigrationReady: false,
        },
      }
  }
}

function withRack<T>(endpoint: T): T & { readonly rack: null } {
  return { ...endpoint, rack: null }
}

/** `records=2@1` are two of epoch 1, `voters=(1,2)` a set of voters after them. */
function fetchedOf(
  command: Command,
  header: { readonly errorCode: number; readonly leaderId: number; readonly leaderEpoch: number },
) {
  const diverging = positionOf(command.text('diverging', '-1@-1'))
  const snapshot = positionOf(command.text('snapshot', '-1@-1'))
  const { offset: count, epoch } = positionOf(command.text('records', '0@0'))
  const voters = command.has('voters') ? command.numbers('voters') : null
  const content = JSON.stringify({ epochs: Array.from({ length: count }, () => epoch), voters })
  const partition = {
    partitionIndex: 0,
    errorCode: header.errorCode,
    highWatermark: command.number('hw', -1),
    lastStableOffset: -1,
    logStartOffset: 0,
    divergingEpoch: { epoch: diverging.epoch, endOffset: diverging.offset },
    currentLeader: { leaderId: header.leaderId, leaderEpoch: header.leaderEpoch },
    snapshotId: { endOffset: snapshot.offset, epoch: snapshot.epoch },
    abortedTransactions: null,
    preferredReadReplica: -1,
    records: count === 0 && voters === null && !command.words.includes('damaged') ? [] : [Buffer.from(content)],
  }
  const responses = [{ topic: METADATA_TOPIC, topicId: METADATA_TOPIC_ID, partitions: [partition] }]
  return { throttleTimeMs: 0, errorCode: ErrorCode.NONE, sessionId: 0, responses }
}

function positionOf(text: string): LogPosition {
  const [offset, epoch] = text.split('@')
  return { offset: Number(offset), epoch: Number(epoch) }
}

/** `epoch=3 leader=2 voted=1` as `3,2,1`; -1 for nobody. */
function stateOf(text: string): QuorumState {
  const [leaderEpoch = 0, leaderId = NOBODY, votedId = NOBODY] = text.split(',').map(Number)
  return { leaderEpoch, leaderId, votedId, votedDirectoryId: votedId < 0 ? NO_DIRECTORY : directoryOf(votedId) }
}

function votersRecord(ids: readonly number[]): QuorumRecord {
  const voters = ids.map((id) => voterOf({ id, directoryId: directoryOf(id) }))
  return { type: 'KRaftVoters', value: { voters } }
}
