import type { MetadataImage } from '../../metadata/image.ts'
import type { Quorum } from '../../quorum/quorum.ts'
import { Collector } from './collector.ts'
import type { Family } from './family.ts'

type QuorumFigures = Pick<Quorum, 'facts' | 'isActive' | 'image'>

/** What Apache Kafka's controller says of the cluster, by its names: on the active one; the others say 0, as there. */
export function* controllerMetrics({ facts, isActive, image }: QuorumFigures): Generator<Family> {
  const collector = new Collector()
  const seen = isActive ? countsOf(image) : NOTHING
  collector.add('kafka_controller_kafkacontroller_activecontrollercount', Number(isActive))
  collector.add('kafka_controller_kafkacontroller_offlinepartitionscount', seen.offline)
  collector.add('kafka_controller_kafkacontroller_preferredreplicaimbalancecount', seen.imbalanced)
  collector.add('kafka_controller_kafkacontroller_globaltopiccount', seen.topics)
  collector.add('kafka_controller_kafkacontroller_globalpartitioncount', seen.partitions)
  collector.add('kafka_controller_kafkacontroller_activebrokercount', seen.brokers - seen.fenced)
  collector.add('kafka_controller_kafkacontroller_fencedbrokercount', seen.fenced)
  if (isActive) collector.add('kafka_brokers', seen.brokers - seen.fenced)
  collector.add('kafka_server_raftmetrics_current_leader', facts.leaderId ?? -1)
  collector.add('kafka_server_raftmetrics_current_epoch', facts.epoch)
  collector.add('kafka_server_raftmetrics_high_watermark', facts.highWatermark)
  collector.add('kafka_server_raftmetrics_current_state', 1, { current_state: facts.role })
  yield* collector.families()
}

const NOTHING = { topics: 0, partitions: 0, offline: 0, imbalanced: 0, brokers: 0, fenced: 0 }

function countsOf(image: MetadataImage): typeof NOTHING {
  const seen = { ...NOTHING }
  for (const [, { partitions }] of image.topicsByName) {
    seen.topics += 1
    seen.partitions += partitions.length
    for (const { leader, replicas } of partitions) {
      if (leader < 0) seen.offline += 1
      else if (leader !== replicas[0]) seen.imbalanced += 1
    }
  }
  for (const { fenced } of image.brokers.values()) {
    seen.brokers += 1
    if (fenced) seen.fenced += 1
  }
  return seen
}
