/** A switch that flips bits of what it passes on, behind the checksums of TCP: of records that followers are sent (S4). */
import type { Host } from '../../src/sim/net/host.ts'
import { clusterScenario } from './support/cluster-scenario.ts'

/** Records name themselves, after their producer. */
const IDS = ['anna-', 'bert-', 'emma-']
const FLIP_CHANCE = 0.05

clusterScenario('records whose bits flip on their way to a follower are not taken', {}, async (run, sim) => {
  const random = sim.streams.faults
  const nodes = new Set<Host>(run.cluster.nodes.map(({ machine }) => machine.host))
  sim.net.tamper = (from, to, chunk) => {
    if (!nodes.has(from) || !nodes.has(to) || !random.chance(FLIP_CHANCE)) return
    const id = random.pick(IDS)
    const at = chunk.indexOf(id, random.below(chunk.length))
    if (at < 0) return
    const position = at + random.below(id.length)
    chunk[position] = (chunk[position] as number) ^ (1 << random.below(8))
  }
  for (let times = random.between(1, 4); times > 0; times--) await run.forAWhile()
  if (random.chance(0.5)) {
    const { leader } = run
    leader.kill()
    await run.failedOver(leader)
    leader.start()
  }
  sim.net.tamper = null
})
