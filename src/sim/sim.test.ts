import { diskContract } from '../testing/contracts/disk.ts'
import { netContract } from '../testing/contracts/net.ts'
import type { TestWorld } from '../testing/contracts/world.ts'
import { STEADY_DISK } from './disk/disk-faults.ts'
import { immediateWorker } from './disk/disk-work.ts'
import { FileTree } from './disk/file-tree.ts'
import { TreeDisk } from './disk/tree-disk.ts'
import { STEADY_NET } from './net/sim-net.ts'
import { type SimOptions, simulate } from './sim.ts'

function simulatedWorld(name: string, options: SimOptions): TestWorld {
  return {
    name,
    host: '10.0.0.1',
    async run(body) {
      await simulate(options, async (sim) => {
        const one = sim.addMachine('one').boot()
        const two = sim.addMachine('two').boot()
        await one.env.disk.makeDirectory('/data')
        await body(one.env, '/data', two.env)
      })
    },
  }
}

// As the embedded broker has it: no faults, no journal, nothing waits.
diskContract({
  name: 'in memory',
  host: '',
  run: (body) =>
    simulate({ seed: 1 }, async (sim) => {
      const { env } = sim.addMachine('unused').boot()
      const tree = new FileTree({ journal: false, wallMs: () => 0 })
      const disk = new TreeDisk(tree, immediateWorker, new Map())
      await disk.makeDirectory('/data')
      await body({ ...env, disk }, '/data', env)
    }).then(() => {}),
})

for (const seed of [1, 2, 3]) {
  diskContract(simulatedWorld(`simulated (seed ${seed})`, { seed, disk: { ...STEADY_DISK, tailChance: 0.1 } }))
  const net = { ...STEADY_NET, splitChance: 0.5, tailChance: 0.05 }
  netContract(simulatedWorld(`simulated (seed ${seed})`, { seed, net }))
}
