import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Disk } from '../env/disk.ts'
import { simulate } from '../sim/sim.ts'
import { noteIncarnation, noteRegistered, readOwnIncarnations } from './own-incarnations.ts'

const FOLDER = '/data'
const id = (life: number) => Buffer.alloc(16, life).toString('base64url')

function onDisk(body: (disk: Disk) => Promise<void>) {
  return simulate({ seed: 1 }, async (sim) => {
    const { disk } = sim.addMachine('node').boot().env
    await disk.makeDirectory(FOLDER)
    await body(disk)
  })
}

async function live(disk: Disk, life: number): Promise<void> {
  await noteIncarnation(disk, FOLDER, await readOwnIncarnations(disk, FOLDER), id(life))
}

test('a folder knows the life that was registered last, and all that may have been since', async () => {
  await onDisk(async (disk) => {
    assert.deepEqual(await readOwnIncarnations(disk, FOLDER), [])
    await live(disk, 1)
    await noteRegistered(disk, FOLDER, id(1))
    await live(disk, 2)
    await live(disk, 3)
    assert.deepEqual(await readOwnIncarnations(disk, FOLDER), [id(1), id(2), id(3)])
    await noteRegistered(disk, FOLDER, id(3))
    assert.deepEqual(await readOwnIncarnations(disk, FOLDER), [id(3)])
  })
})

test('of very many lives that got nowhere the first and the last are kept', async () => {
  await onDisk(async (disk) => {
    await noteRegistered(disk, FOLDER, id(0))
    for (let life = 1; life <= 100; life++) await live(disk, life)
    const known = await readOwnIncarnations(disk, FOLDER)
    assert.equal(known.length, 32)
    assert.deepEqual([known[0], known[1], known.at(-1)], [id(0), id(70), id(100)])
  })
})

test('a file that is not ours says nothing', async () => {
  await onDisk(async (disk) => {
    const file = await disk.open(`${FOLDER}/broker-incarnations`, 'create')
    await file.write([Buffer.from('12\n')], 0)
    await file.close()
    assert.deepEqual(await readOwnIncarnations(disk, FOLDER), [])
  })
})
