import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Net, NetError } from '../env/net.ts'
import { ManualEnv } from '../testing/manual-env.ts'
import { ShardCluster } from '../testing/shard-cluster.ts'
import { Suspects } from './suspects.ts'

/** Brokers 1 to 3 at hosts of their own; the port of those in `dead` refuses. */
function worldOf() {
  const world = new ManualEnv()
  const cluster = new ShardCluster()
  cluster.join({ id: 1 }, { id: 2 }, { id: 3 })
  const dead = new Set<string>()
  const net = {
    connect: async ({ host }: { host: string }) => {
      if (dead.has(host)) throw new NetError('ECONNREFUSED', 'refused')
      return { start() {}, destroy() {} }
    },
  } as unknown as Net
  const addressOf = (brokerId: number) => ({ host: `h${brokerId}`, port: 9092 })
  const suspects = new Suspects({ ...world.env, net }, { image: () => cluster.image, addressOf })
  const watch = (waiting: Promise<void> | null) => {
    const seen = { isSettled: waiting === null }
    void waiting?.then(() => (seen.isSettled = true))
    return seen
  }
  return { world, cluster, dead, suspects, addressOf, watch }
}

test('an answer that would name a broker whose process has just died waits for the next leader', async () => {
  const { world, dead, suspects, addressOf, watch } = worldOf()
  let leader = 2
  dead.add('h2')
  suspects.lost(addressOf(2))
  const waiting = watch(suspects.settled(() => [1, leader]))
  assert.equal(
    suspects.settled(() => [1, 3]),
    null,
    'others are not in doubt',
  )
  await world.advance(50)
  suspects.imageChanged()
  await world.settle()
  assert.ok(!waiting.isSettled, 'an image in which it still leads')
  leader = 3
  suspects.imageChanged()
  await world.settle()
  assert.ok(waiting.isSettled)
  assert.equal(world.armed, 0)
})

test('nobody waits longer than a moment, nor for a broker whose port is open', async () => {
  const { world, dead, suspects, addressOf, watch } = worldOf()
  suspects.lost(addressOf(2))
  const cut = watch(suspects.settled(() => [2]))
  await world.settle()
  assert.ok(cut.isSettled, 'only its connection was gone')
  dead.add('h2')
  suspects.lost(addressOf(2))
  const early = watch(suspects.settled(() => [2]))
  await world.advance(499)
  assert.ok(!early.isSettled)
  await world.advance(2)
  assert.ok(early.isSettled)
  assert.equal(
    suspects.settled(() => [2]),
    null,
  )
})
