import type { Random } from '../../base/random.ts'
import type { Loss } from '../disk/power-loss.ts'
import { anyNode, type FaultFamily, someMs } from './fault.ts'

const LOSSES: readonly Loss[] = ['any', 'any', 'all', 'none']

const kill: FaultFamily = {
  name: 'kill',
  strike(world, random) {
    const node = anyNode(world, random)
    node.kill()
    world.startLater(node, someMs(random, 20, 20_000))
  },
}

const stop: FaultFamily = {
  name: 'stop',
  strike(world, random) {
    const node = anyNode(world, random)
    if (!node.isRunning) return
    const downMs = someMs(random, 20, 10_000)
    void node.stop().then(() => world.startLater(node, downMs))
  },
}

/** Up and down again, also while it still starts. */
const crashLoop: FaultFamily = {
  name: 'crash loop',
  strike(world, random) {
    const node = anyNode(world, random)
    let atMs = 0
    for (let times = random.between(2, 6); times > 0; times--) {
      atMs += someMs(random, 5, 2000)
      world.later(atMs, () => {
        node.kill()
        node.start()
      })
    }
  },
}

/** Of one node, of some or of all at once. */
const powerCut: FaultFamily = {
  name: 'power cut',
  strike(world, random) {
    const { nodes } = world.cluster
    const count = random.pick([1, random.between(1, nodes.length), nodes.length])
    for (const node of someOf(nodes, count, random)) {
      node.losePower(random.pick(LOSSES))
      world.startLater(node, someMs(random, 20, 20_000))
    }
  },
}

/** A process that stands still and goes on as if nothing had been. */
const pause: FaultFamily = {
  name: 'pause',
  strike(world, random) {
    const { machines } = world.sim
    const machine = random.chance(0.7) ? anyNode(world, random).machine : random.pick(machines)
    machine.pause(someMs(random, 50, 20_000))
  },
}

const clockJump: FaultFamily = {
  name: 'clock',
  strike(world, random) {
    const { machine } = anyNode(world, random)
    // Within the hour by which a record may be ahead of its broker.
    machine.wallOffsetMs = random.between(-JUMP_MS_MAX, JUMP_MS_MAX)
    machine.wallDrift = random.chance(0.5) ? 0 : (random.float() - 0.5) / 50
  },
}

const JUMP_MS_MAX = 1_500_000

export const PROCESS_FAULTS: readonly FaultFamily[] = [kill, stop, crashLoop, powerCut, pause, clockJump]

export function someOf<T>(items: readonly T[], count: number, random: Random): T[] {
  const left = [...items]
  return Array.from({ length: Math.min(count, left.length) }, () => left.splice(random.below(left.length), 1)[0] as T)
}
