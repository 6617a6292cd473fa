import type { Random } from '../../base/random.ts'
import type { SimNode } from '../cluster/sim-node.ts'
import type { Host } from '../net/host.ts'
import { anyNode, type FaultFamily, type FaultWorld, someMs } from './fault.ts'
import { someOf } from './process-faults.ts'

const isolate: FaultFamily = {
  name: 'isolate',
  strike(world, random) {
    world.healLater(world.sim.net.isolate(anyNode(world, random).machine.host), someMs(random, 50, 20_000))
  },
}

/** From one node to another, or to all others, in one direction only. */
const oneWay: FaultFamily = {
  name: 'one way',
  strike(world, random) {
    const [from, ...others] = shuffled(world, random)
    const to = random.chance(0.5) ? others : others.slice(0, 1)
    const directions = to.map((node): [Host, Host] => [hostOf(from as SimNode), hostOf(node)])
    const turned = random.chance(0.5) ? directions : directions.map(([a, b]): [Host, Host] => [b, a])
    world.healLater(world.sim.net.cutLinks(turned), someMs(random, 50, 20_000))
  },
}

/** Two nodes that do not reach each other, while both reach the rest. */
const pair: FaultFamily = {
  name: 'pair',
  strike(world, random) {
    const [one, other] = shuffled(world, random)
    if (one === undefined || other === undefined) return
    world.healLater(world.sim.net.cutBetween(hostOf(one), hostOf(other)), someMs(random, 50, 20_000))
  },
}

/** Clients do not reach a node, which reaches all others. */
const clientSide: FaultFamily = {
  name: 'clients cut off',
  strike(world, random) {
    const { sim, cluster } = world
    const host = hostOf(anyNode(world, random))
    const clients = sim.machines.filter((machine) => !cluster.nodes.some((node) => node.machine === machine))
    const directions = clients.flatMap((client): [Host, Host][] => [
      [client.host, host],
      [host, client.host],
    ])
    world.healLater(sim.net.cutLinks(directions), someMs(random, 50, 10_000))
  },
}

/** Nodes are cut off one after the other, and come back in another order (FoundationDB's swizzle-clog). */
const swizzle: FaultFamily = {
  name: 'swizzle',
  strike(world, random) {
    const { sim, cluster } = world
    const chosen = someOf(cluster.nodes, random.between(2, cluster.nodes.length), random)
    const stepMs = someMs(random, 20, 3000)
    const back = someOf(chosen, chosen.length, random)
    for (const [index, node] of chosen.entries()) {
      const healedMs = (chosen.length + back.indexOf(node)) * stepMs
      world.later(index * stepMs, () => world.healLater(sim.net.isolate(hostOf(node)), healedMs - index * stepMs))
    }
  },
}

const reset: FaultFamily = {
  name: 'reset',
  strike(world, random) {
    const { sim } = world
    const host = hostOf(anyNode(world, random))
    for (const other of sim.machines) {
      if (other.host !== host && random.chance(0.7)) sim.net.resetConnections(host, other.host)
    }
  },
}

/** Flapping: a link that comes and goes. */
const flap: FaultFamily = {
  name: 'flap',
  strike(world, random) {
    const { sim } = world
    const [one, other] = shuffled(world, random)
    if (one === undefined || other === undefined) return
    let atMs = 0
    for (let times = random.between(2, 8); times > 0; times--) {
      const downMs = someMs(random, 50, 4000)
      world.later(atMs, () => world.healLater(sim.net.cutBetween(hostOf(one), hostOf(other)), downMs))
      atMs += downMs + someMs(random, 50, 4000)
    }
  },
}

/** What is under way on some connections arrives long after they were given up, and their successors were used. */
const late: FaultFamily = {
  name: 'late bytes',
  strike(world, random) {
    const { sim } = world
    const [one, ...others] = shuffled(world, random)
    if (one === undefined) return
    const ms = someMs(random, 100, 20_000)
    for (const other of others) if (random.chance(0.7)) sim.net.holdBack(hostOf(one), hostOf(other), ms)
  },
}

export const NET_FAULTS: readonly FaultFamily[] = [isolate, oneWay, pair, clientSide, swizzle, reset, flap, late]

function hostOf({ machine }: SimNode): Host {
  return machine.host
}

function shuffled({ cluster }: FaultWorld, random: Random): SimNode[] {
  return someOf(cluster.nodes, cluster.nodes.length, random)
}
