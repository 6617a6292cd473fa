import { scenario } from '../scenario.ts'

scenario('nothing holds under an even seed', { seeds: 2 }, async (sim) => {
  const { env } = sim.addMachine('m').boot()
  await env.disk.makeDirectory('/d')
  if (sim.seed % 2 === 1) return
  env.log.warn('about to fail', { seed: sim.seed })
  await sim.runFor(1)
  throw new Error('nothing holds')
})
