import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../base/random.ts'
import type { Disk, DiskFile } from '../../env/disk.ts'
import type { Machine } from '../machine.ts'
import { type Sim, simulate } from '../sim.ts'

/** Runs `body` under each of the first `seeds` seeds. */
async function underSeeds(
  seeds: number,
  body: (sim: Sim, machine: Machine, disk: Disk) => Promise<void>,
): Promise<void> {
  for (let seed = 1; seed <= seeds; seed++) {
    await simulate({ seed }, async (sim) => {
      const machine = sim.addMachine('m')
      await body(sim, machine, machine.boot().env.disk)
    })
  }
}

/** A file whose name and first bytes are durable. */
async function durableFile(disk: Disk, content: Buffer): Promise<DiskFile> {
  const file = await disk.open('/f', 'create')
  await file.write([content], 0)
  await file.sync()
  await disk.syncDirectory('/')
  return file
}

test('what was synced survives every power cut, whatever came after it', async () => {
  await underSeeds(150, async (sim, machine, disk) => {
    const random = new Random(sim.seed)
    const durable = random.bytes(random.between(1, 9000))
    const file = await durableFile(disk, durable)
    let end = durable.length
    const jobs: Promise<void>[] = []
    for (let i = 0; i < 4; i++) {
      const bytes = random.bytes(random.between(1, 6000))
      jobs.push(file.write([bytes], end))
      end += bytes.length
      if (random.chance(0.5)) await Promise.all(jobs)
    }
    machine.losePower('any')
    const found = await machine.boot().env.disk.readFile('/f')
    assert.ok(found.length <= end)
    assert.ok(found.subarray(0, durable.length).equals(durable))
  })
})

test('what was written through survives every power cut, without a sync', async () => {
  await underSeeds(150, async (sim, machine, disk) => {
    const random = new Random(sim.seed)
    await (await durableFile(disk, Buffer.alloc(0))).close()
    const file = await disk.open('/f', 'durable')
    assert.equal(file.writesThrough, true)
    const pieces: Buffer[] = []
    let end = 0
    for (let i = random.between(1, 4); i > 0; i--) {
      const bytes = random.bytes(random.between(1, 6000))
      await file.write([bytes], end)
      pieces.push(bytes)
      end += bytes.length
    }
    void file.write([random.bytes(3000)], end).catch(() => {})
    machine.losePower('any')
    const found = await machine.boot().env.disk.readFile('/f')
    assert.ok(found.subarray(0, end).equals(Buffer.concat(pieces)))
  })
})

test('what was not synced is lost, kept, torn at a sector, zeroed or stale', async () => {
  const seen = new Set<string>()
  const before = Buffer.alloc(1000, 'b')
  const after = Buffer.alloc(10_000, 'a')
  await underSeeds(300, async (_sim, machine, disk) => {
    const file = await durableFile(disk, before)
    await file.write([after], 1000)
    machine.losePower('any')
    const found = await machine.boot().env.disk.readFile('/f')
    const tail = found.subarray(1000).toString('latin1')
    if (tail.length === 0) seen.add('lost')
    else if (/^a+$/.test(tail) && tail.length === 10_000) seen.add('kept')
    else if (/^a+$/.test(tail)) {
      assert.equal(found.length % 512, 0)
      seen.add('torn')
    } else if (/^\0+$/.test(tail)) seen.add('zeroed')
    else if (/b/.test(tail)) seen.add('stale')
    else if (/^[a\0]+$/.test(tail)) seen.add('holed')
  })
  assert.deepEqual([...seen].sort(), ['holed', 'kept', 'lost', 'stale', 'torn', 'zeroed'])
})

test('a name survives for certain only once its directory was synced', async () => {
  const outcomes = new Set<string>()
  await underSeeds(60, async (_sim, machine, disk) => {
    await disk.makeDirectory('/d')
    await disk.syncDirectory('/')
    const file = await disk.open('/d/old', 'create')
    await file.write([Buffer.from('content')], 0)
    await file.sync()
    await disk.syncDirectory('/d')
    await disk.rename('/d/old', '/d/new')
    await (await disk.open('/d/unsynced', 'create')).close()
    machine.losePower('any')
    const found = machine.boot().env.disk
    const names = await found.list('/d')
    assert.equal(names.filter((name) => name !== 'unsynced').length, 1, `both or neither name: ${names}`)
    for (const name of names)
      if (name !== 'unsynced') assert.equal((await found.readFile(`/d/${name}`)).toString(), 'content')
    outcomes.add(names.join())
  })
  assert.deepEqual([...outcomes].sort(), ['new', 'new,unsynced', 'old', 'old,unsynced'])
})

test('a killed process loses nothing it was told of, and what was on its way ends anywhere', async () => {
  const lengths = new Set<number>()
  await underSeeds(60, async (sim, machine) => {
    const process = machine.boot()
    const file = await process.env.disk.open('/f', 'create')
    await file.write([Buffer.from('told')], 0)
    let settled = false
    const write = file.write([Buffer.alloc(600, 'x')], 4)
    write.then(
      () => {
        settled = true
      },
      () => {
        settled = true
      },
    )
    process.env.timers.after(1, () => {
      settled = true
    })
    machine.kill(process)
    await sim.runFor(1000)
    assert.equal(settled, false, 'something of the dead process ran')
    const found = await machine.boot().env.disk.readFile('/f')
    assert.match(found.toString(), /^toldx*$/)
    lengths.add(found.length)
  })
  assert.ok(lengths.has(4) && lengths.has(604) && lengths.size > 3, [...lengths].join())
})

test('a failed sync is forgotten: the next one succeeds and the data is lost all the same', async () => {
  await underSeeds(10, async (_sim, machine, disk) => {
    const file = await durableFile(disk, Buffer.from('durable'))
    await file.write([Buffer.from('FORGOTTEN')], 7)
    machine.failDisk({ operation: 'sync', pathEnd: '/f', code: 'EIO' })
    await assert.rejects(file.sync(), { code: 'EIO' })
    await file.write([Buffer.from('later')], 16)
    await file.sync()
    assert.equal((await disk.readFile('/f')).toString(), 'durableFORGOTTENlater')
    machine.losePower('none')
    const found = await machine.boot().env.disk.readFile('/f')
    assert.equal(found.toString(), 'durable\0\0\0\0\0\0\0\0\0later')
  })
})

test('a write during a sync is not covered by it', async () => {
  await underSeeds(10, async (_sim, machine, disk) => {
    const file = await durableFile(disk, Buffer.from('one'))
    const sync = file.sync()
    await file.write([Buffer.from('two')], 3)
    await sync
    machine.losePower('all')
    assert.equal((await machine.boot().env.disk.readFile('/f')).toString(), 'one')
  })
})

test('a full disk takes what fits and refuses; room made is room again', async () => {
  await underSeeds(3, async (_sim, machine, disk) => {
    const file = await durableFile(disk, Buffer.alloc(100))
    machine.leaveRoom(50)
    await assert.rejects(file.write([Buffer.alloc(30, 1), Buffer.alloc(30, 2)], 100), { code: 'ENOSPC' })
    assert.equal(await file.size(), 150)
    assert.equal((await disk.space('/')).freeBytes, 0)
    await file.truncate(60)
    assert.equal((await disk.space('/')).freeBytes, 90)
    await file.write([Buffer.alloc(90)], 60)
    await disk.removeFile('/f')
    assert.equal((await disk.space('/')).freeBytes, 150)
  })
})

test('ordered faults, flipped bits and the limit of open files', async () => {
  await underSeeds(1, async (_sim, machine, disk) => {
    const file = await durableFile(disk, Buffer.from([1, 2, 3]))
    machine.failDisk({ operation: 'read', code: 'EIO', times: 2 })
    await assert.rejects(file.read(Buffer.alloc(1), 0), { code: 'EIO' })
    await assert.rejects(disk.readFile('/f'), { code: 'EIO' })
    machine.flipBit('/f', 1, 7)
    assert.deepEqual([...(await disk.readFile('/f'))], [1, 0x82, 3])
    machine.losePower('all')
    const after = machine.boot().env.disk
    assert.deepEqual([...(await after.readFile('/f'))], [1, 0x82, 3])
    machine.diskState.openFilesMax = 1
    const only = await after.open('/f', 'read')
    await assert.rejects(after.open('/f', 'read'), { code: 'EMFILE' })
    await only.close()
    await (await after.open('/f', 'read')).close()
  })
})

test('a buffer changed while it is being written fails the run', async () => {
  await assert.rejects(
    underSeeds(1, async (_sim, _machine, disk) => {
      const file = await disk.open('/f', 'create')
      const buffer = Buffer.from('mine')
      const write = file.write([buffer], 0)
      buffer.fill(0)
      await write
    }),
    /a buffer was changed/,
  )
})

test('a lock dies with its process', async () => {
  await underSeeds(1, async (_sim, machine) => {
    const [one, two] = [machine.boot(), machine.boot()]
    assert.ok(await one.env.disk.lock('/.lock'))
    assert.equal(await two.env.disk.lock('/.lock'), null)
    machine.kill(one)
    assert.ok(await two.env.disk.lock('/.lock'))
  })
})
