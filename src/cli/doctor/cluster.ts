import { isIP } from 'node:net'
import type { Env } from '../../env/env.ts'
import type { Address } from '../../env/net.ts'
import { Admin, type LogDirDescription } from '../../client/admin.ts'
import { Client } from '../../client/client.ts'
import { ClientError } from '../../rpc/errors.ts'
import { type Finding, findings } from './finding.ts'
import { checkClock, checkDescriptors, checkMemory, checkSpace, ms } from './limits.ts'
import { askAddress, isNode, type NodeAnswer, Unreachable } from './node-answer.ts'

type Broker = NodeAnswer['described']['brokers'][number]

/** Looks at a cluster as a client on this machine meets it: where it is told to begin, and where it is sent from there. */
export async function checkCluster(env: Env, bootstrap: readonly Address[]): Promise<Finding[]> {
  const first = await Promise.all(bootstrap.map((address) => askAddress(env, address)))
  const found = bootstrap.map((address, index) => checkBootstrap(address, first[index] as NodeAnswer | Unreachable))
  const answer = first.find((each): each is NodeAnswer => !(each instanceof Unreachable))
  if (answer === undefined) return found
  const { brokers, clusterId } = answer.described
  const nodes = await Promise.all(brokers.map((broker) => checkNode(env, broker, clusterId)))
  return [
    ...found,
    ...nodes.flatMap(({ found: each }) => each),
    ...checkClocks(nodes),
    ...checkVersions(nodes),
    ...(await checkFolders(env, bootstrap, brokers)),
  ]
}

function checkBootstrap(address: Address, answer: NodeAnswer | Unreachable): Finding {
  const about = nameOf(address)
  if (answer instanceof Unreachable) return findings(about).fail('bootstrap', answer.text, answer.advice)
  const { connectMs, described } = answer
  return findings(about).ok('bootstrap', `answers after ${ms(connectMs)}: cluster ${described.clusterId}`)
}

interface CheckedNode {
  readonly broker: Broker
  readonly answer: NodeAnswer | null
  readonly found: readonly Finding[]
}

async function checkNode(env: Env, broker: Broker, clusterId: string): Promise<CheckedNode> {
  const { brokerId, host, port, isFenced } = broker
  const about = `node ${brokerId}`
  const { ok, warn, fail } = findings(about)
  if (isFenced) {
    const advice = 'start it, or take it out of the cluster (cluster drain --remove)'
    return { broker, answer: null, found: [warn('address', 'it does not serve', advice)] }
  }
  const answer = await askAddress(env, { host, port })
  if (answer instanceof Unreachable) {
    const text = `advertised as ${nameOf({ host, port })}: ${answer.text}`
    return { broker, answer: null, found: [fail('address', text, adviceFor(host, answer.advice))] }
  }
  const where = `advertised as ${nameOf({ host, port })}`
  if (!(await isRight(env, broker, clusterId))) {
    const text = `${where}, but another node answers there`
    const advice = 'each node must advertise an address of its own (advertised.listeners, --advertise)'
    return { broker, answer, found: [fail('address', text, advice)] }
  }
  const resolved = isIP(host) === 0 ? ` (${answer.resolved.join(', ')})` : ''
  const address = ok('address', `${where}${resolved}, answers after ${ms(answer.connectMs)}`)
  return { broker, answer, found: [address, ...checkSelf(about, answer)] }
}

async function isRight(env: Env, { host, port, brokerId }: Broker, clusterId: string): Promise<boolean> {
  try {
    return await isNode(env, { host, port }, brokerId, clusterId)
  } catch (error) {
    if (error instanceof ClientError) return false
    throw error
  }
}

function adviceFor(host: string, usual: string): string {
  const isLoopback = host === 'localhost' || host.startsWith('127.') || host === '::1'
  if (!isLoopback) return usual
  return 'it tells clients an address that only its own machine can reach: set --advertise or advertised.listeners'
}

function checkSelf(about: string, { described }: NodeAnswer): Finding[] {
  const { descriptorLimit, memoryLimitBytes } = described
  return [
    ...(descriptorLimit < 0 ? [] : [checkDescriptors(about, descriptorLimit)]),
    ...(memoryLimitBytes < 0 ? [] : [checkMemory(about, memoryLimitBytes)]),
  ]
}

/** Against this machine's clock; each node's among the others' follows from that. */
function checkClocks(nodes: readonly CheckedNode[]): Finding[] {
  const told = nodes.flatMap(({ broker, answer }) => (answer?.clock ? [{ broker, clock: answer.clock }] : []))
  const own = told.map(({ broker, clock }) => checkClock(`node ${broker.brokerId}`, 'the one of this machine', clock))
  if (told.length < 2) return own
  const withinMs = Math.max(...told.map(({ clock }) => clock.withinMs)) * 2
  const byClock = told.toSorted((one, other) => one.clock.offsetMs - other.clock.offsetMs)
  const [late, early] = [byClock[0], byClock.at(-1)]
  const offsetMs = (early?.clock.offsetMs ?? 0) - (late?.clock.offsetMs ?? 0)
  const about = `node ${early?.broker.brokerId}`
  return [
    ...own,
    checkClock(about, `that of node ${late?.broker.brokerId}, the furthest apart`, { offsetMs, withinMs }),
  ]
}

function checkVersions(nodes: readonly CheckedNode[]): Finding[] {
  const asked = nodes.flatMap(({ broker, answer }) => (answer === null ? [] : [{ id: broker.brokerId, answer }]))
  if (asked.length === 0) return []
  const nameOfVersion = ({ described, apis }: NodeAnswer) => described.softwareVersion || apis
  const versions = Map.groupBy(asked, ({ answer }) => nameOfVersion(answer))
  const shown = [...versions].map(([name, members]) => {
    const label = name.includes(':') ? 'one that does not say (Apache Kafka?)' : name
    return `${label} on node ${members.map(({ id }) => id).join(', ')}`
  })
  const { ok, warn } = findings('the cluster')
  if (versions.size === 1) return [ok('versions', `one version: ${shown[0]}`)]
  return [warn('versions', shown.join('; '), 'that is as it should be during an upgrade only: finish it')]
}

async function checkFolders(env: Env, bootstrap: readonly Address[], brokers: readonly Broker[]): Promise<Finding[]> {
  const client = new Client(env, {
    bootstrap,
    clientId: 'millrace-doctor',
    connectTimeoutMs: 3000,
    callTimeoutMs: 5000,
  })
  const admin = new Admin(client)
  try {
    const serving = brokers.filter(({ isFenced }) => !isFenced)
    const all = await Promise.all(serving.map((broker) => foldersOf(admin, broker)))
    return all.flat()
  } finally {
    await client.close()
  }
}

async function foldersOf(admin: Admin, { brokerId, outOfSpace }: Broker): Promise<Finding[]> {
  try {
    const folders = await admin.describeLogDirs([brokerId])
    return folders.map((folder) => checkLogDir(folder, outOfSpace > 0))
  } catch (error) {
    // That it cannot be reached has been said.
    if (error instanceof ClientError) return []
    throw error
  }
}

function checkLogDir({ nodeId, path, error, totalBytes, usableBytes }: LogDirDescription, isFull: boolean): Finding {
  const about = `node ${nodeId} ${path}`
  if (error === null) return checkSpace(about, { totalBytes, freeBytes: usableBytes, isFull })
  return findings(about).fail('disk', error.message, "the folder cannot be used any more: see the node's log")
}

function nameOf({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
