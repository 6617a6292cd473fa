import { runScenario, type Scenario } from '../scenario.ts'

/** Runs until the compiler has seen everything often enough. */
const WARM_UP_RUNS = 40
const ROUNDS = 5

interface Cost {
  readonly eventsPerSecond: number
  readonly timesRealTime: number
}

/**
 * How fast a scenario is simulated, in this process alone, by the processor time it takes and not by the clock: other
 * programs may be running. Half of `seeds` rounds are better and half are worse than the median that is told.
 */
export async function measureSpeed(scenario: Scenario, seeds: number): Promise<string> {
  const perRound = Math.max(1, Math.ceil(seeds / ROUNDS))
  for (let seed = 1; seed <= WARM_UP_RUNS; seed++) await runScenario(scenario, seed, { isExplained: false })
  const costs: Cost[] = []
  let [events, virtualMs] = [0, 0]
  for (let round = 0; round < ROUNDS; round++) {
    const first = WARM_UP_RUNS + 1 + round * perRound
    const begun = process.cpuUsage()
    let [steps, ms] = [0, 0]
    for (let seed = first; seed < first + perRound; seed++) {
      const report = await runScenario(scenario, seed, { isExplained: false })
      steps += report.steps
      ms += report.virtualMs
    }
    const { user, system } = process.cpuUsage(begun)
    const seconds = (user + system) / 1e6
    costs.push({ eventsPerSecond: steps / seconds, timesRealTime: ms / 1000 / seconds })
    events += steps
    virtualMs += ms
  }
  const each = (key: keyof Cost) => spread(costs.map((cost) => cost[key]))
  const density = Math.round((events * 1000) / virtualMs)
  return `${scenario.name}: ${each('eventsPerSecond')} events/s, ${each('timesRealTime')} times real time (${density} events a virtual second)`
}

function spread(numbers: readonly number[]): string {
  const sorted = numbers.map(Math.round).sort((a, b) => a - b)
  return `${sorted[Math.floor(sorted.length / 2)]} (${sorted[0]} to ${sorted.at(-1)})`
}
