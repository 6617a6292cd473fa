/**
 * A topic in the relaxed mode: what is acknowledged is in the page caches of all that are in sync. So any one of them may lose
 * its power, with all that its disk has not, while another lives that is in sync (I9).
 */
import { clusterScenario } from './support/cluster-scenario.ts'

const CONFIGS = { 'durability.mode': 'relaxed' }

clusterScenario(
  'in the relaxed mode one node after the other loses its power, and nothing is lost while another has it',
  { run: { configs: CONFIGS, gapMs: 100 } },
  async (run, sim) => {
    const random = sim.streams.faults
    for (let rounds = random.between(1, 3); rounds > 0; rounds--) {
      const [stopped] = run.followers
      // Its page cache outlives the process.
      stopped.kill()
      await run.until(() => !run.isr.includes(stopped.nodeId), 'it is out of the ISR')
      await run.forAWhile()
      const unlucky = random.pick(run.cluster.nodes.filter((node) => node !== stopped))
      unlucky.losePower(random.pick(['all', 'any']))
      await run.forAWhile()
      const back = random.chance(0.5) ? [stopped, unlucky] : [unlucky, stopped]
      for (const node of back) {
        node.start()
        await run.forAWhile()
      }
      await run.cluster.settled()
    }
  },
)
