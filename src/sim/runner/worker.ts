/** A process that runs what it is told: see `WorkerProcess`. Ends when the one that started it does. */
import { type Order, runHere } from './crew.ts'
import { loadScenarios } from './load-scenarios.ts'
import { scenarioNamed } from '../scenario.ts'

await loadScenarios(process.argv[2] as string)
process.on('disconnect', () => process.exit(0))
process.on('message', ({ scenario, seed, knobs, shrinkRuns }: Order) => {
  const telling = { knobs: new Map(knobs), shrinkRuns }
  void runHere({ scenario: scenarioNamed(scenario), seed }, telling, { isExplained: false }).then((outcome) =>
    process.send?.(outcome),
  )
})
