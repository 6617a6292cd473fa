import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulate } from '../sim/sim.ts'
import { OpenFiles } from './open-files.ts'

test('files used last stay open up to the bound, those in use always, and none after the end', async () => {
  await simulate({ seed: 1 }, async (sim) => {
    const { disk } = sim.addMachine('node').boot()
    const files = new OpenFiles(disk, 2)
    const lease = await files.acquire('/in-use', 'create')
    for (const name of ['/a', '/b', '/c']) (await files.acquire(name, 'create')).release()
    await sim.runFor(10)
    assert.equal(disk.openFiles, 2)
    const [one, two] = [await files.acquire('/d', 'create'), await files.acquire('/d', 'create')]
    assert.equal(one.file, two.file, 'one descriptor for all who use a file')
    one.release()
    two.release()
    await files.close()
    assert.equal(disk.openFiles, 1, 'the one in use')
    await lease.file.write([Buffer.from('x')], 0)
    lease.release()
    const late = await files.acquire('/a', 'read')
    late.release()
    await sim.runFor(10)
    assert.equal(disk.openFiles, 0)
  })
})

test('after a drop the path means another file, and whoever has the old one keeps it', async () => {
  await simulate({ seed: 2 }, async (sim) => {
    const { disk } = sim.addMachine('node').boot()
    const files = new OpenFiles(disk, 10)
    const old = await files.acquire('/a', 'create')
    await disk.rename('/a', '/a.deleted')
    files.drop('/a')
    const fresh = await files.acquire('/a', 'create')
    assert.notEqual(fresh.file, old.file)
    await old.file.write([Buffer.from('old')], 0)
    assert.equal(await fresh.file.size(), 0)
    old.release()
    fresh.release()
    await sim.runFor(10)
    assert.equal(disk.openFiles, 1)
  })
})

test('who writes gets a descriptor that writes as wanted, whoever reads keeps the other', async () => {
  await simulate({ seed: 3 }, async (sim) => {
    const { disk } = sim.addMachine('node').boot()
    const files = new OpenFiles(disk, 10)
    const plain = await files.acquire('/a', 'create')
    const through = await files.acquire('/a', 'durable')
    assert.deepEqual([plain.file.writesThrough, through.file.writesThrough], [false, true])
    const reader = await files.acquire('/a', 'read')
    assert.equal(reader.file, through.file)
    await through.file.write([Buffer.from('x')], 0)
    assert.equal(await plain.file.read(Buffer.alloc(1), 0), 1)
    plain.release()
    through.release()
    reader.release()
    await sim.runFor(10)
    assert.equal(disk.openFiles, 1)
  })
})
