import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Env } from '../env/env.ts'
import { nodeEnv } from '../env-node/node-env.ts'
import type { MetadataImage } from '../metadata/image.ts'
import { hashOf } from '../metadata/snapshot.ts'
import { METADATA_TOPIC, type TopicId } from '../model/ids.ts'
import { AllocateProducerIds } from '../protocol/apis/allocate-producer-ids.ts'
import { DeleteTopics } from '../protocol/apis/delete-topics.ts'
import { defaultLogConfig } from '../storage/config.ts'
import { MetadataNode } from '../testing/metadata-node.ts'
import { withTempDir } from '../testing/temp-dir.ts'
import { metadataFolder } from './format.ts'
import { buildMetadataBatch, decodeBatches, encodeParts } from './metadata-batch.ts'
import { MetadataUnreadableError } from './snapshots.ts'
import { parseQuorumState } from './quorum-state.ts'

const env: Env = { ...nodeEnv(), log: { debug() {}, info() {}, warn() {}, error() {} } }

/** Starts a node on `dir`, lets `body` work with it, and stops it. */
async function running<T>(dir: string, body: (node: MetadataNode) => Promise<T>): Promise<T> {
  const node = await MetadataNode.start(env, dir)
  try {
    return await body(node)
  } finally {
    await node.stop()
  }
}

const topics = (image: MetadataImage) => [...image.topicsByName.keys()].sort()
const files = (dir: string) => readdirSync(metadataFolder(dir)).sort()
const snapshots = (dir: string) => files(dir).filter((name) => name.endsWith('.checkpoint'))
const state = (dir: string) => parseQuorumState(readFileSync(`${metadataFolder(dir)}/quorum-state`, 'utf8'))

test('an empty folder becomes a cluster at our feature level, and everything is there after a restart', async () => {
  await withTempDir(async (dir) => {
    const hash = await running(dir, async (node) => {
      assert.equal(node.controller.image.features.get('metadata.version'), 33)
      assert.equal(node.controller.epoch, 1)
      await node.createTopics({ name: 'orders', partitions: 3 })
      return hashOf(node.controller.image)
    })
    const { leaderId, leaderEpoch, votedId } = state(dir)
    assert.deepEqual({ leaderId, leaderEpoch, votedId }, { leaderId: 1, leaderEpoch: 1, votedId: 1 })
    await running(dir, async (node) => {
      assert.equal(node.controller.epoch, 2)
      assert.deepEqual(topics(node.controller.image), ['orders'])
      // The broker came back: its registration and its leaderships are new, the rest is what it was.
      assert.notEqual(hashOf(node.controller.image), hash)
      assert.equal(node.controller.image.partition('orders', 2)?.leader, 1)
    })
  })
})

test('images are shown in order, each with what changed, and the newest is the one that answers refer to', async () => {
  await withTempDir(async (dir) => {
    const seen: string[] = []
    let slow = Promise.withResolvers<void>()
    slow.resolve()
    const node = await MetadataNode.start(env, dir, {
      onImage: async (changes, image) => {
        await slow.promise
        for (const { name } of changes.createdTopics) seen.push(`+${name}`)
        for (const { name } of changes.deletedTopics) seen.push(`-${name}`)
        assert.equal(changes.after, image)
      },
    })
    await node.createTopics({ name: 'a', partitions: 1 })
    await node.controller.whenPublished()
    slow = Promise.withResolvers()
    // While the listener is slow, commits go on; what it missed comes as one change.
    await node.createTopics({ name: 'b', partitions: 1 })
    await node.createTopics({ name: 'c', partitions: 1 })
    const a = node.controller.image.topic('a')?.topicId as string
    await node.controller.handle(DeleteTopics, { topics: [{ name: null, topicId: a }], topicNames: [], timeoutMs: 1 })
    await node.createTopics({ name: 'd', partitions: 1 })
    slow.resolve()
    await node.controller.whenPublished()
    assert.deepEqual(seen, ['+a', '+b', '+c', '+d', '-a'])
    assert.equal(node.published.at(-1), node.controller.image)
    await node.stop()
  })
})

test('many requests at once are each decided on what the one before decided', async () => {
  await withTempDir(async (dir) => {
    await running(dir, async (node) => {
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => node.createTopics({ name: 'orders', partitions: 1 })),
      )
      const codes = answers.map(({ topics }) => topics[0]?.errorCode)
      assert.equal(codes.filter((code) => code === 0).length, 1)
      assert.equal(codes.filter((code) => code === 36).length, 49)
      const { brokerEpoch } = node
      const blocks = await Promise.all(
        Array.from({ length: 20 }, () => node.controller.handle(AllocateProducerIds, { brokerId: 1, brokerEpoch })),
      )
      assert.equal(new Set(blocks.map(({ producerIdStart }) => producerIdStart)).size, 20)
    })
  })
})

test('ten thousand partitions of one request, and a thousand topics at once, survive a restart', async () => {
  await withTempDir(async (dir) => {
    const hash = await running(dir, async (node) => {
      await node.createTopics({ name: 'big', partitions: 10_000 })
      await Promise.all(Array.from({ length: 1000 }, (_, i) => node.createTopics({ name: `t${i}`, partitions: 1 })))
      return topics(node.controller.image).length
    })
    assert.equal(hash, 1001)
    await running(dir, async (node) => {
      assert.equal(topics(node.controller.image).length, 1001)
      assert.equal(node.controller.image.topic('big')?.partitions.length, 10_000)
    })
  })
})

test('the log tells of deleted topics until this life has looked at what earlier ones left', async () => {
  await withTempDir(async (dir) => {
    const staticValues = new Map([['metadata.log.max.record.bytes.between.snapshots', '1']])
    let topicId: TopicId | undefined
    await running(dir, async (node) => {
      await node.createTopics({ name: 'gone', partitions: 1 })
      topicId = node.controller.image.topic('gone')?.topicId as TopicId
      await node.controller.handle(DeleteTopics, { topics: [{ name: null, topicId }], topicNames: [], timeoutMs: 1 })
    })
    const before = snapshots(dir)
    const looked = Promise.withResolvers<void>()
    const node = await MetadataNode.start(env, dir, { staticValues, snapshotsAfter: looked.promise })
    try {
      for (const name of ['a', 'b', 'c', 'd']) {
        await node.createTopics({ name, partitions: 1 })
        await node.controller.whenPublished()
      }
      assert.deepEqual(snapshots(dir), before)
      assert.ok((await node.controller.removedTopics()).has(topicId as TopicId))
      looked.resolve()
      await node.controller.takeSnapshot()
      assert.notDeepEqual(snapshots(dir), before)
    } finally {
      await node.stop()
    }
  })
})

test('a snapshot takes the place of the log before it, and the last two are kept', async () => {
  await withTempDir(async (dir) => {
    await running(dir, async (node) => {
      for (const name of ['a', 'b', 'c']) {
        await node.createTopics({ name, partitions: 2 })
        await node.controller.takeSnapshot()
      }
      assert.equal(snapshots(dir).length, 2)
      const log = node.logs.get({ topic: METADATA_TOPIC, partition: 0 })
      assert.equal(log?.logStartOffset, Number(snapshots(dir)[0]?.slice(0, 20)))
    })
    await running(dir, async (node) => {
      assert.deepEqual(topics(node.controller.image), ['a', 'b', 'c'])
      assert.equal(node.controller.epoch, 2)
    })
  })
})

test('snapshots are taken by themselves after enough new records', async () => {
  await withTempDir(async (dir) => {
    const staticValues = new Map([['metadata.log.max.record.bytes.between.snapshots', '20000']])
    const node = await MetadataNode.start(env, dir, { staticValues })
    for (let i = 0; i < 20; i++) await node.createTopics({ name: `t${i}`, partitions: 30 })
    await node.stop()
    assert.ok(snapshots(dir).length === 2, `${snapshots(dir)}`)
    assert.ok(!snapshots(dir).includes('00000000000000000000-0000000000.checkpoint'))
    await running(dir, async ({ controller }) => assert.equal(topics(controller.image).length, 20))
  })
})

/** A folder with two snapshots after the format's, and records after them. */
async function withSnapshots(body: (dir: string, newest: string, older: string) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    await running(dir, async (node) => {
      for (const name of ['a', 'b', 'c']) {
        await node.createTopics({ name, partitions: 2 })
        await node.controller.takeSnapshot()
      }
      await node.createTopics({ name: 'd', partitions: 1 })
    })
    const [older, newest] = snapshots(dir).map((name) => `${metadataFolder(dir)}/${name}`) as [string, string]
    await body(dir, newest, older)
  })
}

const damages: Readonly<Record<string, (content: Buffer) => Buffer>> = {
  'a flipped bit': (content) => {
    const copy = Buffer.from(content)
    copy[copy.length >> 1] = (copy[copy.length >> 1] as number) ^ 0x10
    return copy
  },
  'a missing end': (content) => content.subarray(0, content.length - 75),
  'a cut batch': (content) => content.subarray(0, content.length - 10),
  'nothing in it': () => Buffer.alloc(0),
  'another file': () => Buffer.from('version=1\n'),
  'its first batch twice': (content) => Buffer.concat([content.subarray(0, 166), content]),
}

for (const [damage, apply] of Object.entries(damages)) {
  test(`a newest snapshot with ${damage} is passed over for the one before`, async () => {
    await withSnapshots(async (dir, newest) => {
      writeFileSync(newest, apply(readFileSync(newest)))
      await running(dir, async ({ controller }) => assert.deepEqual(topics(controller.image), ['a', 'b', 'c', 'd']))
    })
  })
}

test('with every snapshot damaged the node refuses to start, and touches nothing', async () => {
  await withSnapshots(async (dir, newest, older) => {
    const good = readFileSync(newest)
    for (const path of [newest, older])
      writeFileSync(path, (damages['a flipped bit'] as (b: Buffer) => Buffer)(readFileSync(path)))
    const before = files(dir)
    await assert.rejects(MetadataNode.start(env, dir), (error: Error) => {
      return error instanceof MetadataUnreadableError && /damaged.*Restore a snapshot/.test(error.message)
    })
    assert.deepEqual(files(dir), before)
    // The operator does what the message says.
    writeFileSync(newest, good)
    await running(dir, async ({ controller }) => assert.deepEqual(topics(controller.image), ['a', 'b', 'c', 'd']))
  })
})

test('a lost snapshot is not taken for an empty cluster', async () => {
  await withSnapshots(async (dir, newest, older) => {
    rmSync(newest)
    rmSync(older)
    await assert.rejects(MetadataNode.start(env, dir), MetadataUnreadableError)
  })
})

test('without its first snapshot a log that has everything is enough', async () => {
  await withTempDir(async (dir) => {
    await running(dir, (node) => node.createTopics({ name: 'orders', partitions: 1 }))
    for (const name of snapshots(dir)) rmSync(`${metadataFolder(dir)}/${name}`)
    await running(dir, async ({ controller }) => assert.deepEqual(topics(controller.image), ['orders']))
  })
})

test('a folder with partitions but no metadata is refused: a new cluster would not know them', async () => {
  await withTempDir(async (dir) => {
    await running(dir, async (node) => {
      await node.logs.openLog({ topic: 'orders', partition: 0 }, 'AQIDBAUGBwgJCgsMDQ4PEA' as TopicId, defaultLogConfig)
    })
    rmSync(metadataFolder(dir), { recursive: true })
    await assert.rejects(MetadataNode.start(env, dir), (error: Error) => {
      return error instanceof MetadataUnreadableError && /orders-0/.test(error.message)
    })
  })
})

test('metadata of another directory or node is refused', async () => {
  await withTempDir(async (dir) => {
    await running(dir, (node) => node.createTopics({ name: 'orders', partitions: 1 }))
    const meta = `${dir}/meta.properties`
    const text = readFileSync(meta, 'utf8')
    writeFileSync(meta, text.replace(/directory\.id=.*/, 'directory.id=AQIDBAUGBwgJCgsMDQ4PEA'))
    await assert.rejects(MetadataNode.start(env, dir), /is that of voter 1 .*directory AQIDBAUGBwgJCgsMDQ4PEA/)
  })
})

test('a set of records that a crash cut short takes no effect, then and later', async () => {
  await withTempDir(async (dir) => {
    await running(dir, (node) => node.createTopics({ name: 'before', partitions: 1 }))
    // What a crash leaves of a set too large for one batch: its beginning.
    const records = [
      { type: 'BeginTransaction' as const, value: { name: null } },
      { type: 'Topic' as const, value: { name: 'cut', topicId: 'AQIDBAUGBwgJCgsMDQ4PEA' } },
    ]
    appendToLog(dir, [...encodeParts(records, 33)][0] as Buffer[])
    for (let start = 0; start < 2; start++) {
      await running(dir, async (node) => {
        assert.equal(node.controller.image.topic('cut'), undefined)
        await node.createTopics({ name: `after-${start}`, partitions: 1 })
        // A snapshot right after must not fall into the middle of it.
        await node.controller.takeSnapshot()
      })
    }
    await running(dir, async ({ controller }) =>
      assert.deepEqual(topics(controller.image), ['after-0', 'after-1', 'before']),
    )
  })
})

test('a set too large for one batch is cut into several, and read back whole', () => {
  const records = Array.from({ length: 1000 }, (_, i) => ({
    type: 'RemoveTopic' as const,
    value: { topicId: Buffer.alloc(16, i + 1).toString('base64url') },
  }))
  const parts = [...encodeParts(records, 33, 2000)]
  assert.ok(parts.length > 10)
  const batches = parts.map((values) => buildMetadataBatch(values, { wallMs: 5 }))
  for (const batch of batches) assert.ok(batch.length <= 2000)
  const back = [...decodeBatches(Buffer.concat(batches))].flatMap((batch) => batch.records)
  assert.deepEqual(
    back.map(({ type, value }) => ({ type, value })),
    records,
  )
})

test('who votes is written once, and again when the controller is reached elsewhere', async () => {
  await withTempDir(async (dir) => {
    const path = `${metadataFolder(dir)}/00000000000000000000.log`
    const ports = () =>
      [...decodeBatches(readFileSync(path))].flatMap(({ controls }) =>
        controls.flatMap((control) =>
          control.type === 'KRaftVoters' ? control.value.voters[0]?.endpoints[0]?.port : [],
        ),
      )
    for (const controllerPort of [9093, 9093, 9094, 9094]) {
      const node = await MetadataNode.start(env, dir, { controllerPort })
      await node.stop()
    }
    assert.deepEqual(ports(), [9093, 9094])
  })
})

test('the quorum is described with its one voter, which has everything', async () => {
  await withTempDir(async (dir) => {
    await running(dir, async ({ controller, logs }) => {
      const ask = (...partitions: number[]) =>
        controller.describeQuorum({
          topics: [{ topicName: METADATA_TOPIC, partitions: partitions.map((partitionIndex) => ({ partitionIndex })) }],
        })
      const { topics, nodes } = ask(0)
      const ours = topics[0]?.partitions[0]
      assert.deepEqual([ours?.leaderId, ours?.leaderEpoch, ours?.errorCode], [1, 1, 0])
      const codes = ask(0, 1).topics[0]?.partitions.map(({ errorCode }) => errorCode)
      assert.deepEqual(codes, [3, 3], 'this is the one question that there is')
      assert.equal(ours?.currentVoters[0]?.logEndOffset, ours?.highWatermark)
      assert.equal(ours?.currentVoters[0]?.replicaDirectoryId, logs.metaProperties.directoryId)
      assert.equal(nodes[0]?.listeners[0]?.port, 9093)
    })
  })
})

/** Puts records at the end of the metadata log of a node that is stopped, as another version might have written them. */
function appendToLog(dir: string, values: readonly Buffer[]): void {
  const path = `${metadataFolder(dir)}/00000000000000000000.log`
  const log = readFileSync(path)
  const baseOffset = ([...decodeBatches(log)].at(-1)?.lastOffset ?? 0) + 1
  writeFileSync(path, Buffer.concat([log, buildMetadataBatch(values, { wallMs: 1, baseOffset, leaderEpoch: 1 })]))
  rmSync(`${dir}/.kafka_cleanshutdown`)
}

for (const [name, featureLevel] of [
  ['group.version', 1],
  ['metadata.version', 99],
] as const) {
  test(`a cluster at ${name} ${featureLevel}, which we do not serve, is refused by name`, async () => {
    await withTempDir(async (dir) => {
      await running(dir, async () => {})
      const [values] = [...encodeParts([{ type: 'FeatureLevel', value: { name, featureLevel } }], 33)]
      appendToLog(dir, values as Buffer[])
      await assert.rejects(MetadataNode.start(env, dir), (error: Error) => {
        return error instanceof MetadataUnreadableError && error.message.includes(`${name} ${featureLevel}`)
      })
    })
  })
}

test('a record that no version of ours knows is refused, not skipped', async () => {
  await withTempDir(async (dir) => {
    await running(dir, async () => {})
    appendToLog(dir, [Buffer.from([1, 120, 0, 1, 2, 3])])
    await assert.rejects(MetadataNode.start(env, dir), /cannot be read: .*record id 120 is not known/)
  })
})
