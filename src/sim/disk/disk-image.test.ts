import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Disk } from '../../env/disk.ts'
import type { Machine } from '../machine.ts'
import { type Sim, simulate } from '../sim.ts'

function world(name: string, body: (machine: Machine, other: Machine, sim: Sim) => Promise<void>): void {
  test(name, () => simulate({ seed: 1 }, (sim) => body(sim.addMachine('a'), sim.addMachine('b'), sim)).then(() => {}))
}

async function put(disk: Disk, path: string, text: string, isSynced = true): Promise<void> {
  const file = await disk.open(path, 'create')
  await file.write([Buffer.from(text)], 0)
  if (isSynced) await file.sync()
  if (isSynced) await disk.syncDirectory('/')
  await file.close()
}

async function textOf(machine: Machine, path: string): Promise<string> {
  return (await machine.boot().env.disk.readFile(path)).toString()
}

world('an older image of a disk holds what was durable then, and nothing newer', async (machine) => {
  const { disk } = machine.boot().env
  await put(disk, '/f', 'old')
  await put(disk, '/unsynced', 'gone', false)
  const image = machine.takeImage()
  await put(disk, '/f', 'new and longer')
  await put(disk, '/g', 'later')
  machine.losePower('none')
  machine.restoreImage(image)
  assert.equal(await textOf(machine, '/f'), 'old')
  assert.deepEqual(machine.tree.list('/'), ['f'])
  assert.equal(machine.tree.usedBytes, 3)
  machine.losePower('all')
  assert.equal(await textOf(machine, '/f'), 'old', 'it is durable')
})

world('the disks of two machines change places', async (machine, other) => {
  await put(machine.boot().env.disk, '/f', 'of a')
  await put(other.boot().env.disk, '/f', 'of b, longer')
  const images = [machine, other].map((each) => {
    each.losePower('none')
    return each.takeImage()
  })
  machine.restoreImage(images[1] as (typeof images)[1])
  other.restoreImage(images[0] as (typeof images)[0])
  assert.deepEqual([await textOf(machine, '/f'), await textOf(other, '/f')], ['of b, longer', 'of a'])
  await put(machine.boot().env.disk, '/g', '12345')
  assert.deepEqual([machine.tree.usedBytes, other.tree.usedBytes], [17, 4])
})

world('what is harmed on the platter stays harmed, whatever becomes of the power', async (machine) => {
  const { disk } = machine.boot().env
  await put(disk, '/f', 'first')
  await put(disk, '/g', 'second')
  await put(disk, '/h', 'third')
  machine.losePower('none')
  machine.overwrite('/f', 1, Buffer.from('--'))
  machine.replaceContent('/g', Buffer.from('2'))
  machine.swapNames('/f', '/g')
  machine.loseName('/h')
  machine.losePower('all')
  assert.deepEqual([await textOf(machine, '/f'), await textOf(machine, '/g')], ['2', 'f--st'])
  assert.deepEqual(machine.tree.list('/'), ['f', 'g'])
  assert.equal(machine.harms, 4)
})
