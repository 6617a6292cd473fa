import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SimNode } from '../cluster/sim-node.ts'
import { ReplicaInvariants } from './replica-invariants.ts'

interface Log {
  durableOffset: number
  writtenOffset: number
  endOffset: number
  failure: Error | null
}

/** A replica of a node, as the checks look at it. */
function replicaOf(endOffset: number) {
  const log = {
    logStartOffset: 0,
    durableOffset: endOffset,
    writtenOffset: endOffset,
    endOffset,
    epochs: { entries: [{ epoch: 0, startOffset: 0 }], latest: 0 },
    failure: null as Error | null,
    dump: () => `end=${endOffset}`,
  }
  return {
    log,
    topicId: 'id',
    topicPartition: { topic: 'orders', partition: 0 },
    name: 'orders-0',
    leader: null as { leaderEpoch: number; isr: number[] } | null,
    highWatermark: 0,
    settled: null as Promise<void> | null,
    isDamaged: false,
    settings: { log: { durabilityMode: 'fsync' } },
    dump: () => 'orders-0',
  }
}

type Replica = ReturnType<typeof replicaOf>

function look(invariants: ReplicaInvariants, replica: Replica): void {
  const hosted = { all: [replica] }
  const node = { nodeId: 2, machine: { name: 'node-2', harms: 0 }, node: { replicas: { hosted } } }
  invariants.check(node as unknown as SimNode)
}

function failsWhileCut(log: Log, replica: Replica, invariants: ReplicaInvariants): void {
  replica.settled = Promise.resolve()
  look(invariants, replica)
  log.failure = new Error('EMFILE')
  replica.settled = null
  look(invariants, replica)
}

test('a log that failed while it was cut may be found cut after a start', () => {
  const invariants = new ReplicaInvariants()
  const replica = replicaOf(255)
  look(invariants, replica)
  failsWhileCut(replica.log, replica, invariants)
  look(invariants, replicaOf(236))
})

test('but not below what is committed', () => {
  const invariants = new ReplicaInvariants()
  const replica = replicaOf(255)
  replica.leader = { leaderEpoch: 0, isr: [2] }
  replica.highWatermark = 240
  look(invariants, replica)
  replica.leader = null
  failsWhileCut(replica.log, replica, invariants)
  assert.throws(() => look(invariants, replicaOf(236)), /S1: node-2 has end=236, durable was 240/)
})

test('a log that failed otherwise, or after it was cut, still holds all that was durable', () => {
  const invariants = new ReplicaInvariants()
  const replica = replicaOf(255)
  replica.settled = Promise.resolve()
  look(invariants, replica)
  replica.settled = null
  look(invariants, replica)
  replica.log.failure = new Error('EIO')
  look(invariants, replica)
  assert.throws(() => look(invariants, replicaOf(236)), /S1: node-2 has end=236, durable was 255/)
})
