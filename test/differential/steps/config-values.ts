import type { Random } from '../../../src/base/random.ts'

const GOOD: readonly (readonly [string, string])[] = [
  ['retention.ms', '100000000'],
  ['retention.ms', '-1'],
  ['retention.bytes', '10000000'],
  ['cleanup.policy', 'compact'],
  ['cleanup.policy', 'delete'],
  ['cleanup.policy', 'compact,delete'],
  ['cleanup.policy', ''],
  ['segment.bytes', '1048576'],
  ['max.message.bytes', '300'],
  ['max.message.bytes', '2000000'],
  ['min.insync.replicas', '1'],
  ['message.timestamp.type', 'LogAppendTime'],
  ['message.timestamp.type', 'CreateTime'],
  ['compression.type', 'producer'],
  ['compression.type', 'uncompressed'],
  ['flush.messages', '100'],
  ['index.interval.bytes', '100'],
  ['min.cleanable.dirty.ratio', '0.1'],
  ['delete.retention.ms', '5'],
  ['unclean.leader.election.enable', 'true'],
  ['message.timestamp.after.max.ms', '1000'],
  ['message.timestamp.before.max.ms', '90000000'],
  ['leader.replication.throttled.replicas', '0:1,1:1'],
  ['follower.replication.throttled.replicas', '*'],
  ['preallocate', 'true'],
  ['local.retention.ms', '1000'],
]

const BAD: readonly (readonly [string, string])[] = [
  ['no.such.config', '1'],
  ['retention.ms', '-2'],
  ['retention.ms', 'long'],
  ['retention.ms', ''],
  ['retention.ms', ' 5000 '],
  ['retention.ms', '99999999999999999999'],
  ['cleanup.policy', 'burn'],
  ['cleanup.policy', 'delete,delete'],
  ['cleanup.policy', 'none'],
  ['cleanup.policy', 'compact, delete'],
  ['segment.bytes', '13'],
  ['segment.bytes', '1e6'],
  ['max.message.bytes', '-1'],
  ['min.insync.replicas', '0'],
  ['message.timestamp.type', 'logappendtime'],
  ['compression.type', 'rar'],
  ['compression.type', 'GZIP'],
  ['min.cleanable.dirty.ratio', '1.5'],
  ['unclean.leader.election.enable', 'yes'],
  ['unclean.leader.election.enable', 'TRUE'],
  ['leader.replication.throttled.replicas', 'all'],
  ['leader.replication.throttled.replicas', '0-1'],
  ['message.format.version', '3.0'],
  ['compression.gzip.level', '10'],
  ['compression.zstd.level', '-3'],
  ['remote.storage.enable', 'true'],
  ['local.retention.ms', '100000000000'],
  ['preallocate', '1'],
  ['', 'x'],
  ['RETENTION.MS', '5'],
]

/** A setting of a topic, mostly one that is allowed. */
export function topicConfig(random: Random): { name: string; value: string | null } {
  const [name, value] = random.pick(random.chance(0.75) ? GOOD : BAD)
  return { name, value: random.chance(0.04) ? null : value }
}

const GROUP: readonly (readonly [string, string])[] = [
  ['consumer.session.timeout.ms', '50000'],
  ['consumer.session.timeout.ms', '1'],
  ['consumer.heartbeat.interval.ms', '6000'],
  ['consumer.heartbeat.interval.ms', '600000'],
  ['share.auto.offset.reset', 'earliest'],
  ['share.auto.offset.reset', 'by_duration:PT1H'],
  ['share.auto.offset.reset', 'never'],
  ['share.record.lock.duration.ms', '20000'],
  ['streams.num.standby.replicas', '1'],
  ['no.such.config', '1'],
]

export function groupConfig(random: Random): { name: string; value: string | null } {
  const [name, value] = random.pick(GROUP)
  return { name, value }
}
