import type { BrokerImage } from '../metadata/image.ts'
import type { BrokerRegistrationChangeRecord, MetadataRecord } from '../metadata/records.ts'
import { brokerNumber } from './config-view.ts'
import type { Due, Notice } from './decision.ts'
import { type Changes, type Ruling, withBroker, withoutBroker, withSpace } from './elections.ts'

/** Silence after which a broker counts as dead. */
export function sessionTimeoutMs({ image, broker }: Ruling): number {
  return brokerNumber(image, broker, 'broker.session.timeout.ms')
}

/** The broker leads and is in sync no more, until it is heard again. */
export function fence(context: Ruling, broker: BrokerImage, why: string): Due {
  const { records, notices } = withoutBroker(context, broker.brokerId)
  return {
    records: [registrationChange(broker, { fenced: 1 }), ...records],
    notices: [fenceNotice(broker, why, records), ...notices],
  }
}

function fenceNotice({ brokerId }: BrokerImage, why: string, records: readonly MetadataRecord[]): Notice {
  let [moved, offline] = [0, 0]
  for (const record of records) {
    if (record.type !== 'PartitionChange') continue
    if (record.value.leader >= 0) moved++
    if (record.value.leader === -1) offline++
  }
  const message = `Node ${brokerId} is fenced: ${why}`
  const details = { node: brokerId, leadersMoved: moved, partitionsWithoutLeader: offline }
  return { level: offline > 0 ? 'warn' : 'info', message, details }
}

export function unfence(context: Ruling, broker: BrokerImage): Changes {
  const { records, notices } = withBroker(context, broker.brokerId)
  return { records: [registrationChange(broker, { fenced: -1 }), ...records], notices }
}

export function beginShutdown(context: Ruling, broker: BrokerImage): Changes {
  const { records, notices } = withoutBroker(context, broker.brokerId)
  return { records: [registrationChange(broker, { inControlledShutdown: 1 }), ...records], notices }
}

const SPACE = ['has room', 'takes no records of clients', 'takes no records at all'] as const

/** It tells how its disk is: what it cannot write, others in sync take over, until it has room again. */
export function changeSpace(context: Ruling, broker: BrokerImage, told: number): Changes {
  const outOfSpace = Math.min(told, SPACE.length - 1)
  if (outOfSpace < 0 || outOfSpace === broker.outOfSpace) return { records: [], notices: [] }
  const { brokerId } = broker
  const { records, notices } = withSpace(context, brokerId, outOfSpace)
  const moved = records.filter(({ type, value }) => type === 'PartitionChange' && value.leader >= 0).length
  const notice: Notice = {
    level: outOfSpace > 0 ? 'warn' : 'info',
    message: `The disk of node ${brokerId} ${SPACE[outOfSpace]}`,
    details: { node: brokerId, leadersMoved: moved },
  }
  return { records: [registrationChange(broker, { outOfSpace }), ...records], notices: [notice, ...notices] }
}

export function registrationChange(
  { brokerId, brokerEpoch }: BrokerImage,
  change: Partial<
    Pick<
      BrokerRegistrationChangeRecord,
      'fenced' | 'inControlledShutdown' | 'logDirs' | 'cordonedLogDirs' | 'outOfSpace'
    >
  >,
): MetadataRecord {
  const unchanged = { fenced: 0, inControlledShutdown: 0, logDirs: [], cordonedLogDirs: null, outOfSpace: -1 }
  return { type: 'BrokerRegistrationChange', value: { ...unchanged, ...change, brokerId, brokerEpoch } }
}
