import { type Command, scenarios } from '../testing/datadriven.ts'
import { PartitionLeader } from './leader.ts'
import type { Durability, Effect, EligibleBroker, Input } from './types.ts'

scenarios(import.meta.url, () => {
  let leader: PartitionLeader | null = null
  return (command) => {
    if (command.name === 'lead') {
      leader = lead(command)
      return leader.dump()
    }
    if (leader === null) throw new Error('a scenario begins with lead')
    const effects = leader.step(inputOf(command))
    return [...effects.map(printed), leader.dump()].join('\n')
  }
})

function lead(command: Command): PartitionLeader {
  nowMs = 0
  const replicas = command.numbers('replicas')
  const end = command.number('end', 0)
  return new PartitionLeader({
    nodeId: 1,
    leaderEpoch: 7,
    registration: { replicas, addingReplicas: [], isr: command.numbers('isr', replicas), elr: [], partitionEpoch: 0 },
    eligible: eligible(command.numbers('eligible', replicas)),
    durability: command.text('mode', 'fsync') as Durability,
    minInsyncReplicas: command.text('min', '1') === 'unset' ? null : command.number('min', 1),
    lagTimeMaxMs: 10_000,
    endOffset: end,
    writtenOffset: end,
    durableOffset: end,
    highWatermark: command.number('hw', 0),
    nowMs: 0,
  })
}

/** Where a command does not say, no time has passed. */
let nowMs = 0

/** Broker 3 is in incarnation 30. */
function eligible(ids: readonly number[]): EligibleBroker[] {
  return ids.map((id) => ({ id, brokerEpoch: id * 10 }))
}

function inputOf(command: Command): Input {
  switch (command.name) {
    case 'progress': {
      const endOffset = command.number('end')
      const writtenOffset = command.number('written', endOffset)
      const durableOffset = command.number('durable', writtenOffset)
      return {
        type: 'progressed',
        endOffset,
        writtenOffset,
        durableOffset,
        nowMs: (nowMs = command.number('now', nowMs)),
      }
    }
    case 'fetch': {
      const replica = command.number('from')
      const endOffset = command.number('at')
      return {
        type: 'fetched',
        replica,
        startOffset: 0,
        endOffset,
        brokerEpoch: command.number('epoch', replica * 10),
        writtenOffset: command.has('written') ? command.number('written') : null,
        durableOffset: command.text('durable', '') === 'unknown' ? null : command.number('durable', endOffset),
        nowMs: (nowMs = command.number('now', nowMs)),
      }
    }
    case 'tick':
      return { type: 'tick', nowMs: (nowMs = command.number('now')) }
    case 'refuse':
      return { type: 'isr-refused', nowMs }
    case 'image': {
      const replicas = command.numbers('replicas', [1, 2, 3])
      const [isr, addingReplicas, elr] = [
        command.numbers('isr'),
        command.numbers('adding', []),
        command.numbers('elr', []),
      ]
      const registration = { replicas, addingReplicas, isr, elr, partitionEpoch: command.number('epoch') }
      const restarted = command.numbers('restarted', [])
      const now = eligible(command.numbers('eligible', replicas)).map(({ id, brokerEpoch }) => {
        return { id, brokerEpoch: brokerEpoch + (restarted.includes(id) ? 1 : 0) }
      })
      return { type: 'registered', registration, eligible: now }
    }
    case 'configure':
      return {
        type: 'configured',
        durability: command.text('mode', 'fsync') as Durability,
        minInsyncReplicas: command.number('min', 1),
      }
    default:
      throw new Error(`unknown command ${command.name}`)
  }
}

function printed(effect: Effect): string {
  if (effect.type === 'raise-high-watermark') return `${effect.type} ${effect.offset}`
  const isr = effect.isr.map(({ id, brokerEpoch }) => `${id}@${brokerEpoch}`)
  return `${effect.type} isr=${isr.join(',')} partitionEpoch=${effect.partitionEpoch}`
}
