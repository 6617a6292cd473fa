import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Cluster } from '../cluster/cluster.ts'
import { runTool } from '../support/kafka-oracle.ts'
import { skipWithout } from '../support/toolchain.ts'
import { removeTemporary, root, temporaryDirectory } from '../support/files.ts'
import { run, until } from '../support/process.ts'

const WITHIN = { timeoutMs: 30_000, everyMs: 100 }

async function startThree(context: TestContext): Promise<Cluster> {
  const directory = temporaryDirectory('cluster-commands')
  const cluster = await Cluster.prepare({ kind: 'millrace', directory, nodes: 3 })
  context.after(async () => {
    await cluster.kill()
    removeTemporary(directory)
  })
  await cluster.start()
  return cluster
}

test('what is wrong is said in words, and put right by commands', { timeout: 180_000 }, async (context) => {
  const cluster = await startThree(context)
  const millrace = (...args: string[]) => run(join(root, 'bin', 'millrace'), [...args, '-s', cluster.addresses])
  const json = async (...args: string[]) => JSON.parse((await millrace(...args, '--format', 'json')).stdout)
  await millrace('topic', 'create', 'orders', '-p', '3', '-r', '2')
  await cluster.inSync('orders', 10_000)

  await context.test('a healthy cluster', async () => {
    const { code, stdout } = await millrace('cluster', 'status')
    assert.equal(code, 0, stdout)
    assert.match(stdout, /3 nodes, 1 topic, 3 partitions\ncontroller \d of 1, 2, 3, epoch \d+\nall is well/)
    const quorum = await json('cluster', 'quorum')
    assert.equal(quorum.voters.length, 3)
    assert.match((await millrace('cluster', 'quorum')).stdout, /leader/)
  })

  await context.test('what a node has just set aside is told of, though another one has just died', async () => {
    const stray = join(cluster.node(2).dataDirectory, `orders-7.${'0'.repeat(32)}-stray`)
    mkdirSync(stray)
    writeFileSync(join(stray, '00000000000000000000.log'), 'x'.repeat(2048))
    const { code, stdout } = await millrace('cluster', 'status')
    assert.equal(code, 0, stdout)
    const told =
      /node 2 keeps 1 directory of partitions that [^]*\(2 KiB, \*-stray in [^]*, the oldest of them for 7 d more/
    assert.match(stdout, told)
    await cluster.node(3).kill()
    const after = await millrace('cluster', 'status')
    assert.equal(after.code, 1)
    assert.match(after.stdout, told)
    assert.match(after.stdout, /node 3 does not (answer from here|serve)/)
    assert.equal((await millrace('topic', 'describe', 'orders')).code, 0)
    await cluster.node(3).start()
    rmSync(stray, { recursive: true })
    const isWell = async () => ((await millrace('cluster', 'status')).stdout.endsWith('all is well\n') ? true : null)
    await until('all is well again', isWell, WITHIN)
  })

  await context.test('a node is drained: first shown, then done', async () => {
    const before = await json('cluster', 'nodes')
    const victim = before.find((node: { nodeId: number }) => node.nodeId === 3)
    assert.ok(victim.replicas > 0)
    const shown = await millrace('cluster', 'drain', '3')
    assert.match(shown.stdout, /orders-\d {2}\d,\d -> \d,\d\n[^]*nothing was done; add --yes/)
    const early = await millrace('cluster', 'drain', '3', '--remove')
    assert.equal(early.code, 1)
    assert.match(early.stderr, /still holds 2 partitions: drain it first/)
    assert.equal((await millrace('cluster', 'drain', '3', '--yes')).code, 0)
    const isEmpty = async () => {
      const nodes = await json('cluster', 'nodes')
      return nodes.find((node: { nodeId: number }) => node.nodeId === 3).replicas === 0 ? true : null
    }
    await until('node 3 is empty', isEmpty, WITHIN)
    assert.match((await millrace('cluster', 'reassign')).stdout, /nothing is being moved/)
  })

  await context.test('copies spread again, with as few moves as that takes', async () => {
    assert.match((await millrace('cluster', 'reassign', 'orders')).stderr, /say where to/)
    assert.match(
      (await millrace('cluster', 'reassign', 'orders', '--to', '1')).stderr,
      /1 node cannot hold so many copies/,
    )
    const { moves } = await json('cluster', 'reassign', 'orders', '--to', '1,2,3', '--yes')
    assert.equal(moves.length, 2)
    await cluster.inSync('orders', 20_000)
    await millrace('cluster', 'elect')
    const preferred = async () => {
      const states = await cluster.describe('orders')
      return states.every(({ leader, replicas }) => leader === replicas[0]) ? true : null
    }
    await until('each is led by its preferred replica', preferred, WITHIN)
    assert.match((await millrace('cluster', 'elect')).stdout, /led by its preferred replica/)
  })

  await context.test('a dead node is told of, and can be taken out once nothing lies there', async () => {
    assert.equal((await millrace('cluster', 'drain', '3', '--yes')).code, 0)
    await until('it is empty', async () => ((await json('cluster', 'nodes'))[2].replicas === 0 ? true : null), WITHIN)
    const serving = await millrace('cluster', 'drain', '3', '--remove')
    assert.match(serving.stderr, /node 3 still serves: stop it first/)
    assert.equal(await cluster.node(3).stop(), 0)
    const told = async () => {
      const { code, stdout } = await millrace('cluster', 'status')
      return code === 1 && /node 3 does not serve, last heard [\d.]+ s ago: 0 partitions/.test(stdout) ? true : null
    }
    await until('status tells of it', told, WITHIN)
    assert.match(
      (await millrace('cluster', 'drain', '3', '--remove')).stdout,
      /controller 3 votes no more\nnode 3 is no broker/,
    )
    const removed = await millrace('cluster', 'drain', '3', '--remove', '--yes')
    assert.equal(removed.code, 0, removed.stderr)
    const { nodes, problems } = await json('cluster', 'status')
    assert.equal(nodes, 2)
    assert.deepEqual(problems, [])
  })
})

test('Kafka’s own tools look after the cluster', {
  timeout: 240_000,
  skip: await skipWithout('kafka'),
}, async (context) => {
  const cluster = await startThree(context)
  const server = ['--bootstrap-server', cluster.node(3).address]
  const tool = async (name: Parameters<typeof runTool>[0], ...args: string[]) => {
    const { code, stdout, stderr } = await runTool(name, args)
    assert.equal(code, 0, `${name} ${args.join(' ')}\n${stdout}${stderr}`)
    return stdout
  }
  assert.match(await tool('metadata-quorum', ...server, 'describe', '--status'), /MaxFollowerLag: +\d/)
  assert.match(await tool('metadata-quorum', ...server, 'describe', '--replication'), /Leader[^]*Follower[^]*Follower/)
  assert.match(await tool('features', ...server, 'describe'), /kraft\.version.*FinalizedVersionLevel: 1/)
  assert.match(
    await tool('topics', ...server, '--create', '--topic', 't', '--partitions', '3', '--replication-factor', '3'),
    /Created/,
  )
  await cluster.inSync('t', 10_000)
  const leader = await cluster.leaderOf('t', 0)
  await cluster.node(leader).kill()
  const isSeen = async () => ((await cluster.leaderOf('t', 0)) === leader ? null : true)
  await until('another leads', isSeen, WITHIN)
  const rest = [
    '--bootstrap-server',
    cluster.nodes
      .filter(({ isRunning }) => isRunning)
      .map(({ address }) => address)
      .join(','),
  ]
  assert.match(await tool('topics', ...rest, '--describe', '--under-replicated-partitions'), /Topic: t/)
  await cluster.restart(leader)
  await cluster.inSync('t', 20_000)
  await tool('leader-election', ...rest, '--election-type', 'preferred', '--all-topic-partitions')
  assert.equal(await cluster.leaderOf('t', 0), leader)
})
