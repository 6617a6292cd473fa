import type { BrokerImage } from '../metadata/image.ts'
import type { BrokerRegistrationChangeRecord, MetadataRecord } from '../metadata/records.ts'
import { brokerNumber } from './config-view.ts'
import type { Due, Notice } from './decision.ts'
import { type Changes, type Ruling, withBroker, withoutBroker } from './elections.ts'

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

export function registrationChange(
  { brokerId, brokerEpoch }: BrokerImage,
  change: Partial<
    Pick<BrokerRegistrationChangeRecord, 'fenced' | 'inControlledShutdown' | 'logDirs' | 'cordonedLogDirs'>
  >,
): MetadataRecord {
  const unchanged = { fenced: 0, inControlledShutdown: 0, logDirs: [], cordonedLogDirs: null }
  return { type: 'BrokerRegistrationChange', value: { ...unchanged, ...change, brokerId, brokerEpoch } }
}
