import { ErrorCode } from '../protocol/errors.ts'
import { type Command, scenarios } from '../testing/datadriven.ts'
import { PartitionFollower } from './follower.ts'
import type { EpochEnd, FollowerEffect, FollowerInput, FollowerLog } from './follower-types.ts'

scenarios(
  import.meta.url,
  () => {
    const node = new Follower()
    return (command) => node.run(command)
  },
  'testdata/follower',
)

/** The machine with a log that is only its epochs: `1@0 3@10 ends at 15` carries out what it orders. */
class Follower {
  #machine = new PartitionFollower({ leaderId: 2, leaderEpoch: 0, highWatermark: 0 })
  #epochs: { epoch: number; startOffset: number }[] = []
  #startOffset = 0
  #endOffset = 0

  run(command: Command): string {
    if (command.name === 'log') return this.#holds(command)
    const effects = this.#machine.step(this.#input(command))
    const lines = effects.map(printed)
    for (const effect of effects) {
      if (effect.type !== 'truncate' && effect.type !== 'restart') continue
      this.#cut(effect)
      this.#machine.step({ type: 'truncated', log: this.#log })
    }
    return [...lines, this.#dump()].join('\n')
  }

  get #log(): FollowerLog {
    return { startOffset: this.#startOffset, endOffset: this.#endOffset }
  }

  /** `log epochs=1@0,3@10 end=15 hw=4`: follows broker 2, in an epoch of its own. */
  #holds(command: Command): string {
    this.#epochs = command
      .text('epochs', '')
      .split(',')
      .filter((entry) => entry !== '')
      .map((entry) => entry.split('@').map(Number))
      .map(([epoch = 0, startOffset = 0]) => ({ epoch, startOffset }))
    this.#startOffset = command.number('start', 0)
    this.#endOffset = command.number('end', 0)
    const highWatermark = command.number('hw', 0)
    this.#machine = new PartitionFollower({ leaderId: 2, leaderEpoch: 9, highWatermark })
    return this.#dump()
  }

  #input(command: Command): FollowerInput {
    const nowMs = command.number('now', 0)
    switch (command.name) {
      case 'answer': {
        const errorCode = ErrorCode[(command.words[0] ?? 'NONE') as keyof typeof ErrorCode]
        const divergingEpoch = command.has('diverging') ? epochEnd(command.text('diverging')) : null
        const ownEpoch = divergingEpoch === null ? null : this.#endOf(divergingEpoch.leaderEpoch)
        const leaderStartOffset = command.number('start', -1)
        return { type: 'answered', errorCode, divergingEpoch, ownEpoch, leaderStartOffset, log: this.#log, nowMs }
      }
      case 'appended': {
        this.#endOffset = command.number('end')
        const leaderStartOffset = command.number('start', 0)
        return { type: 'appended', leaderHighWatermark: command.number('hw'), leaderStartOffset, log: this.#log }
      }
      case 'refused':
        return { type: 'refused', nowMs }
      case 'offsets': {
        const isSilent = command.words[0] === 'unknown'
        const leader = isSilent ? null : { startOffset: command.number('start'), endOffset: command.number('end') }
        return { type: 'offsets', leader, log: this.#log, nowMs }
      }
      case 'tick':
        return { type: 'tick', nowMs }
      default:
        throw new Error(`unknown command ${command.name}`)
    }
  }

  /** The dumb version of `LeaderEpochs.endOffsetFor`. */
  #endOf(epoch: number): EpochEnd {
    const at = this.#epochs.findLastIndex((entry) => entry.epoch <= epoch)
    const entry = this.#epochs[at]
    if (this.#epochs.length === 0) return { leaderEpoch: -1, endOffset: -1 }
    if (entry === undefined) return { leaderEpoch: epoch, endOffset: this.#epochs[0]?.startOffset ?? -1 }
    return { leaderEpoch: entry.epoch, endOffset: this.#epochs[at + 1]?.startOffset ?? this.#endOffset }
  }

  #cut({ type, offset }: { type: 'truncate' | 'restart'; offset: number }): void {
    this.#epochs = type === 'restart' ? [] : this.#epochs.filter(({ startOffset }) => startOffset < offset)
    this.#endOffset = offset
    if (type === 'restart') this.#startOffset = offset
  }

  #dump(): string {
    const epochs = this.#epochs.map(({ epoch, startOffset }) => `${epoch}@${startOffset}`).join(',')
    return `[${epochs} ${this.#startOffset}..${this.#endOffset}] ${this.#machine.dump()}`
  }
}

/** `3:10` is epoch 3, which ends at 10. */
function epochEnd(text: string): EpochEnd {
  const [leaderEpoch = -1, endOffset = -1] = text.split(':').map(Number)
  return { leaderEpoch, endOffset }
}

function printed(effect: FollowerEffect): string {
  switch (effect.type) {
    case 'append':
    case 'ask-offsets':
      return effect.type
    case 'truncate':
    case 'restart':
      return `${effect.type} ${effect.offset}${effect.committedFrom === null ? '' : ' LOSES COMMITTED'}`
    default:
      return `${effect.type} ${effect.offset}`
  }
}
