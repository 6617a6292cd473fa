import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DiskError } from '../env/disk.ts'
import { LogUnavailableError } from '../env/replicated-log.ts'
import type { CreateTopicsResponse } from '../protocol/apis/create-topics.ts'
import { simulate } from '../sim/sim.ts'
import { MetadataNode } from '../testing/metadata-node.ts'
import { hashOf } from '../metadata/snapshot.ts'

const staticValues = new Map([['metadata.log.max.record.bytes.between.snapshots', '6000']])

/** A node that creates and snapshots, is stopped by a power cut at any instant, and comes back, again and again. */
async function powerCuts(seed: number): Promise<string> {
  const acknowledged = new Set<string>()
  const asked = new Set<string>()
  let epoch = 0
  const report = await simulate({ seed }, async (sim) => {
    const machine = sim.addMachine('node')
    for (let life = 0; life < 5; life++) {
      const process = machine.boot()
      let node: MetadataNode | null = null
      const work = async () => {
        node = await MetadataNode.start(process.env, '/data', { staticValues })
        assert.ok(node.controller.epoch > epoch, 'an epoch was led twice')
        epoch = node.controller.epoch
        for (const name of acknowledged) assert.ok(node.controller.image.topic(name) !== undefined, `${name} is lost`)
        for (const { name, partitions } of node.controller.image.topicsByName.values()) {
          assert.ok(asked.has(name), `${name} was never asked for`)
          assert.equal(partitions.length, 5, `${name} is there in part`)
        }
        for (let i = 0; ; i++) {
          const name = `t-${life}-${i}`
          asked.add(name)
          const answer: CreateTopicsResponse = await node.createTopics({ name, partitions: 5 })
          assert.equal(answer.topics[0]?.errorCode, 0)
          acknowledged.add(name)
        }
      }
      const ended = work()
      ended.catch(() => {})
      await Promise.race([ended, sim.runFor(20 + sim.streams.workload.below(130))])
      machine.losePower('any')
    }
    const last = machine.boot()
    const node = await MetadataNode.start(last.env, '/data', { staticValues })
    for (const name of acknowledged) assert.ok(node.controller.image.topic(name) !== undefined, `${name} is lost`)
    assert.ok(acknowledged.size > 0)
    await node.stop()
  })
  return report.hash
}

for (let seed = 1; seed <= 8; seed++) {
  test(`after power cuts no acknowledged topic is lost, and none is there in part (seed ${seed})`, async () => {
    await powerCuts(seed)
  })
}

test('one seed gives one run', async () => {
  assert.equal(await powerCuts(77), await powerCuts(77))
})

test('a failed sync answers nobody, ever, and a restart finds out what is there', async () => {
  await simulate({ seed: 3 }, async (sim) => {
    const machine = sim.addMachine('node')
    const failures: Error[] = []
    const node = await MetadataNode.start(machine.boot().env, '/data', { onFailure: (error) => failures.push(error) })
    await node.createTopics({ name: 'before', partitions: 1 })
    machine.failDisk({ operation: 'sync', pathEnd: '.log', code: 'EIO', times: 1 })
    await assert.rejects(node.createTopics({ name: 'lost', partitions: 1 }), LogUnavailableError)
    await assert.rejects(node.createTopics({ name: 'later', partitions: 1 }), LogUnavailableError)
    assert.equal(failures.length, 1)
    assert.ok(failures[0] instanceof DiskError)
    assert.equal(node.controller.activeController(), null)
    assert.equal(node.controller.image.topic('lost'), undefined)
    machine.losePower('all')
    const back = await MetadataNode.start(machine.boot().env, '/data')
    assert.ok(back.controller.image.topic('before') !== undefined)
    assert.equal(back.controller.image.topic('later'), undefined)
    await back.stop()
  })
})

test('a full disk refuses changes with the reason, and takes them again when there is room', async () => {
  await simulate({ seed: 4 }, async (sim) => {
    const machine = sim.addMachine('node')
    const node = await MetadataNode.start(machine.boot().env, '/data')
    await node.createTopics({ name: 'before', partitions: 1 })
    const hash = hashOf(node.controller.image)
    machine.leaveRoom(0)
    // The first one was appended before anyone knew: it is answered when there is room again.
    const first = node.createTopics({ name: 'first', partitions: 1 })
    await sim.runFor(500)
    await assert.rejects(node.createTopics({ name: 'refused', partitions: 1 }), (error: Error) => {
      return error instanceof LogUnavailableError && error.reason === 'out-of-space'
    })
    assert.equal(hashOf(node.controller.image), hash)
    machine.leaveRoom(Number.POSITIVE_INFINITY)
    assert.equal((await first).topics[0]?.errorCode, 0)
    assert.equal((await node.createTopics({ name: 'after', partitions: 1 })).topics[0]?.errorCode, 0)
    assert.equal(node.controller.image.topic('refused'), undefined)
    await node.stop()
  })
})
