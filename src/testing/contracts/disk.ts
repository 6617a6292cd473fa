import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../base/random.ts'
import { type Disk, DiskError, type DiskFile } from '../../env/disk.ts'
import type { TestWorld } from './world.ts'

/** What every `Disk` does while nothing fails. Losing power is the simulator's alone: `sim/disk-power.test.ts`. */
export function diskContract(world: TestWorld): void {
  const check = (name: string, body: (disk: Disk, dir: string) => Promise<void>) => {
    test(`${world.name} disk: ${name}`, () => world.run((env, dir) => body(env.disk, dir)))
  }

  check('gathered buffers are written one after the other', async (disk, dir) => {
    const file = await disk.open(`${dir}/a`, 'create')
    await file.write([Buffer.from('one'), Buffer.alloc(0), Buffer.from('two'), Buffer.from('three')], 0)
    await file.write([Buffer.from('TWO')], 3)
    await file.sync()
    assert.equal(await file.size(), 11)
    assert.equal((await disk.readFile(`${dir}/a`)).toString(), 'oneTWOthree')
    await file.close()
  })

  check('a read past the end returns what is there', async (disk, dir) => {
    const file = await withContent(disk, `${dir}/a`, 'hello')
    const buffer = Buffer.alloc(4)
    assert.equal(await file.read(buffer, 3), 2)
    assert.equal(buffer.toString('latin1', 0, 2), 'lo')
    assert.equal(await file.read(buffer, 5), 0)
    assert.equal(await file.read(buffer, 500), 0)
    await file.close()
  })

  check('a gap before a write reads as zeros', async (disk, dir) => {
    const file = await withContent(disk, `${dir}/a`, 'x')
    await file.write([Buffer.from('y')], 70_000)
    const all = await disk.readFile(`${dir}/a`)
    assert.equal(all.length, 70_001)
    assert.ok(all.subarray(1, 70_000).every((byte) => byte === 0))
    await file.close()
  })

  check('truncate cuts, and lengthens with zeros', async (disk, dir) => {
    const file = await withContent(disk, `${dir}/a`, 'hello')
    await file.truncate(2)
    await file.truncate(4)
    assert.equal((await disk.readFile(`${dir}/a`)).toString('latin1'), 'he\0\0')
    await file.close()
  })

  check('random writes and truncations give what a plain buffer gives', async (disk, dir) => {
    const random = new Random(5)
    const file = await disk.open(`${dir}/a`, 'create')
    let model = Buffer.alloc(0)
    for (let step = 0; step < 200; step++) {
      if (random.chance(0.1)) {
        const length = random.below(200_000)
        await file.truncate(length)
        model = resized(model, length)
        continue
      }
      const pieces = Array.from({ length: random.below(4) }, () => Buffer.alloc(random.below(20_000), step + 1))
      const position = random.below(150_000)
      const bytes = Buffer.concat(pieces)
      await file.write(pieces, position)
      if (bytes.length > 0) model = resized(model, Math.max(model.length, position + bytes.length))
      bytes.copy(model, position)
    }
    assert.ok((await disk.readFile(`${dir}/a`)).equals(model))
    await file.close()
  })

  check('the modes of open', async (disk, dir) => {
    await rejects(disk.open(`${dir}/a`, 'read'), 'ENOENT')
    await rejects(disk.open(`${dir}/a`, 'write'), 'ENOENT')
    await rejects(disk.open(`${dir}/missing/a`, 'create'), 'ENOENT')
    await (await disk.open(`${dir}/a`, 'exclusive')).close()
    await rejects(disk.open(`${dir}/a`, 'exclusive'), 'EEXIST')
    const kept = await withContent(disk, `${dir}/a`, 'kept')
    await kept.close()
    await (await disk.open(`${dir}/a`, 'create')).close()
    assert.equal((await disk.readFile(`${dir}/a`)).toString(), 'kept')
    await rejects(disk.open(dir, 'write'), 'EISDIR')
    const reader = await disk.open(`${dir}/a`, 'read')
    await rejects(reader.write([Buffer.from('no')], 0), 'EBADF')
    await reader.close()
  })

  check('a file that writes through is made when missing, read, written and cut like any other', async (disk, dir) => {
    const path = `${dir}/through`
    const file = await disk.open(path, 'durable')
    await file.write([Buffer.from('one'), Buffer.from('two')], 0)
    await file.truncate(4)
    await file.write([Buffer.from('three')], 4)
    await file.sync()
    const buffer = Buffer.alloc(20)
    assert.equal(buffer.toString('latin1', 0, await file.read(buffer, 0)), 'onetthree')
    await file.close()
    const again = await disk.open(path, 'durable')
    assert.equal(await again.size(), 9)
    await again.close()
    const plain = await disk.open(path, 'write')
    assert.equal(plain.writesThrough, false)
    await plain.close()
  })

  check('stat and list', async (disk, dir) => {
    assert.equal(await disk.stat(`${dir}/a`), null)
    await disk.makeDirectory(`${dir}/b/c`)
    await disk.makeDirectory(`${dir}/b/c`)
    await (await withContent(disk, `${dir}/a`, 'four')).close()
    assert.deepEqual(await disk.list(dir), ['a', 'b'])
    assert.deepEqual(await disk.list(`${dir}/b`), ['c'])
    const file = await disk.stat(`${dir}/a`)
    assert.deepEqual([file?.kind, file?.bytes], ['file', 4])
    assert.equal((await disk.stat(`${dir}/b`))?.kind, 'directory')
    assert.equal(await disk.stat(`${dir}/a/below-a-file`), null)
    await rejects(disk.list(`${dir}/missing`), 'ENOENT')
    await rejects(disk.list(`${dir}/a`), 'ENOTDIR')
    await rejects(disk.makeDirectory(`${dir}/a`), 'EEXIST')
  })

  check('rename replaces its target, also a directory with all in it', async (disk, dir) => {
    await (await withContent(disk, `${dir}/new`, 'new')).close()
    await (await withContent(disk, `${dir}/old`, 'old')).close()
    await disk.rename(`${dir}/new`, `${dir}/old`)
    assert.deepEqual(await disk.list(dir), ['old'])
    assert.equal((await disk.readFile(`${dir}/old`)).toString(), 'new')
    await disk.makeDirectory(`${dir}/from/deep`)
    await (await withContent(disk, `${dir}/from/deep/x`, 'x')).close()
    await disk.rename(`${dir}/from`, `${dir}/to`)
    assert.equal((await disk.readFile(`${dir}/to/deep/x`)).toString(), 'x')
    assert.equal(await disk.stat(`${dir}/from`), null)
    await rejects(disk.rename(`${dir}/missing`, `${dir}/old`), 'ENOENT')
    await rejects(disk.rename(`${dir}/to`, `${dir}/to/deep/y`), 'EINVAL')
  })

  check('an open file outlives its name', async (disk, dir) => {
    const file = await withContent(disk, `${dir}/a`, 'still here')
    await disk.rename(`${dir}/a`, `${dir}/b`)
    await disk.removeFile(`${dir}/b`)
    const buffer = Buffer.alloc(5)
    assert.equal(await file.read(buffer, 0), 5)
    assert.equal(buffer.toString(), 'still')
    await file.close()
    assert.deepEqual(await disk.list(dir), [])
  })

  check('removal', async (disk, dir) => {
    await disk.makeDirectory(`${dir}/tree/deep`)
    await (await withContent(disk, `${dir}/tree/deep/a`, 'a')).close()
    await rejects(disk.removeFile(`${dir}/missing`), 'ENOENT')
    await disk.removeTree(`${dir}/tree`)
    await disk.removeTree(`${dir}/tree`)
    assert.deepEqual(await disk.list(dir), [])
  })

  check('readFile refuses what is larger than asked for', async (disk, dir) => {
    await (await withContent(disk, `${dir}/a`, 'hello')).close()
    assert.equal((await disk.readFile(`${dir}/a`, 5)).length, 5)
    await rejects(disk.readFile(`${dir}/a`, 4), 'EFBIG')
    await rejects(disk.readFile(`${dir}/missing`), 'ENOENT')
  })

  check('directories can be synced, and there is room', async (disk, dir) => {
    await disk.syncDirectory(dir)
    await rejects(disk.syncDirectory(`${dir}/missing`), 'ENOENT')
    const { freeBytes, totalBytes } = await disk.space(dir)
    assert.ok(freeBytes > 0 && freeBytes <= totalBytes)
  })

  check('a lock is held once', async (disk, dir) => {
    const first = await disk.lock(`${dir}/.lock`)
    assert.ok(first)
    assert.equal(await disk.lock(`${dir}/.lock`), null)
    assert.ok(await disk.lock(`${dir}/.other`))
    await first.unlock()
    const second = await disk.lock(`${dir}/.lock`)
    assert.ok(second)
    await first.unlock()
    assert.equal(await disk.lock(`${dir}/.lock`), null, 'a second unlock of the first lock opened the second')
    await second.unlock()
    await rejects(disk.lock(`${dir}/missing/.lock`), 'ENOENT')
  })
}

async function withContent(disk: Disk, path: string, content: string): Promise<DiskFile> {
  const file = await disk.open(path, 'create')
  await file.write([Buffer.from(content)], 0)
  return file
}

function resized(buffer: Buffer, length: number): Buffer<ArrayBuffer> {
  const result = Buffer.alloc(length)
  buffer.copy(result, 0, 0, Math.min(length, buffer.length))
  return result
}

async function rejects(promise: Promise<unknown>, code: string): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof DiskError, `${error} is no DiskError`)
    assert.equal(error.code, code)
    return true
  })
}
