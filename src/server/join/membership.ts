import { assert } from '../../base/assert.ts'
import { sleep } from '../../env/clock.ts'
import type { Env } from '../../env/env.ts'
import type { Address } from '../../env/net.ts'
import { ClientError } from '../../rpc/errors.ts'
import { makeDurableDirectory } from '../../storage/files.ts'
import { type MetaProperties, readMetaProperties, writeMetaProperties } from '../../storage/meta-properties.ts'
import { formatAddress } from '../config/listeners.ts'
import { formsCluster, type GivenMembership, ROLES, type Role } from '../config/membership-config.ts'
import { type NodeConfig, placed } from '../config/node-config.ts'
import { refuseForeignFolder } from '../data-folder.ts'
import { askCluster, type ClusterFacts } from './cluster-facts.ts'
import { type Joined, readJoined, writeJoined } from './joined-file.ts'

/** This node cannot be what it was told to be in its cluster. The message is for the operator; nothing was changed. */
export class MembershipRefusedError extends Error {
  override name = 'MembershipRefusedError'
}

/** The start was called off while the node looked for its cluster. */
export class JoinStoppedError extends Error {
  override name = 'JoinStoppedError'
}

/** As many controllers as a cluster gets without being told: one may fail, and none waits for more than it must. */
const CONTROLLERS_WANTED = 3
/** Between two rounds in which no node answered. */
const RETRY_MS = 250
/** Every so many rounds somebody is told that the node still waits. */
const ROUNDS_PER_WARNING = 40
/** To those who wait, and may wait for each other. */
const HINT_JOIN = 'the first node of a cluster starts without --join'
const HINT_STATIC =
  'an empty folder begins no cluster whose voters are fixed (controller.quorum.voters): it is asked of the others, and these may be ' +
  "as empty. Format the folders of all with one cluster id (Kafka's kafka-storage format), or leave the setting out: the first node " +
  'starts alone, the others with --join'

/**
 * Finds out what this node is in its cluster, before it takes its data folder: which cluster that is, which number and
 * roles the node has, whom to ask for the rest. A folder that is in use says most of it itself. A node that joins waits
 * until the cluster answers, and `isCancelled` ends that. Rejects with `MembershipRefusedError`, `DataFolderError`,
 * `JoinStoppedError`.
 */
export async function resolveMembership(
  env: Env,
  config: NodeConfig,
  isCancelled: () => boolean = () => false,
): Promise<NodeConfig> {
  const { given, dataFolder } = config
  await refuseForeignFolder(env, dataFolder)
  const meta = await readMetaProperties(env.disk, dataFolder)
  const remembered = await readJoined(env.disk, dataFolder)
  if (meta !== null) return await again(env, config, meta, remembered)
  const known = [...given.join, ...given.bootstrap, ...given.staticVoters, ...(remembered?.controllers ?? [])]
  if (known.length === 0) {
    if (config.membership.roles.includes('controller')) return config
    throw new MembershipRefusedError('a broker alone is no cluster: --join names a node of the one it belongs to')
  }
  const hint = given.staticVoters.length > 0 ? HINT_STATIC : HINT_JOIN
  const facts = await untilAnswered(env, known, { isCancelled, hint })
  const nodeId = given.nodeId ?? freeId(facts.nodeIds)
  const roles = rolesIn(facts, nodeId, given, remembered)
  const controllers = facts.controllers.length > 0 ? facts.controllers : known
  await makeDurableDirectory(env.disk, dataFolder)
  await writeJoined(env.disk, dataFolder, { roles, controllers })
  const { clusterId } = facts
  env.log.info('Joins a cluster', { clusterId, nodeId, roles: roles.join(','), controllers: printed(controllers) })
  const givesWay = given.nodeId === null
  return placed(config, nodeId, { roles, forms: false, clusterId, givesWay, bootstrap: controllers })
}

/**
 * Somebody else has the number that was chosen: two nodes joined at the same time, or a dead one was not seen. The folder
 * holds nothing yet, so the node becomes another one. The node that had taken the folder must have been stopped.
 */
export async function withOtherId(env: Env, config: NodeConfig, taken: ReadonlySet<number>): Promise<NodeConfig> {
  const { dataFolder, membership } = config
  const meta = await readMetaProperties(env.disk, dataFolder)
  assert(meta !== null && membership.givesWay, 'another number for a node that has one')
  const nodeId = freeId(new Set([...taken, config.nodeId]))
  env.log.info('Another node has this number; it takes the next', { former: config.nodeId, nodeId })
  await writeMetaProperties(env.disk, dataFolder, { ...meta, nodeId })
  return placed(config, nodeId, membership)
}

/** The folder was used before: it knows its cluster, which need not be there right now. */
async function again(
  env: Env,
  config: NodeConfig,
  meta: MetaProperties,
  remembered: Joined | null,
): Promise<NodeConfig> {
  const { given, dataFolder } = config
  const facts = given.join.length === 0 ? null : await askOnce(env, given.join)
  if (facts !== null && !(facts instanceof ClientError) && facts.clusterId !== meta.clusterId) {
    throw new MembershipRefusedError(
      `${dataFolder} belongs to cluster ${meta.clusterId}, and ${printed(given.join)} is cluster ${facts.clusterId}: ` +
        'join with an empty folder (--data)',
    )
  }
  if (facts instanceof ClientError && remembered === null) {
    const { message: reason } = facts
    env.log.warn('No node answers at --join; goes on in the cluster of its folder', {
      clusterId: meta.clusterId,
      reason,
    })
  }
  const nodeId = given.nodeId ?? meta.nodeId
  const forms = remembered === null && formsCluster(given)
  const found = facts === null || facts instanceof ClientError ? [] : facts.controllers
  const bootstrap = unique([...given.bootstrap, ...given.staticVoters, ...found, ...(remembered?.controllers ?? [])])
  const roles = given.roles ?? staticRoles(nodeId, given) ?? remembered?.roles ?? ROLES
  if (!forms && remembered === null) await writeJoined(env.disk, dataFolder, { roles, controllers: bootstrap })
  return placed(config, nodeId, { roles, forms, clusterId: null, givesWay: false, bootstrap })
}

function rolesIn(
  { voterIds, votersCanChange }: ClusterFacts,
  nodeId: number,
  given: GivenMembership,
  remembered: Joined | null,
): readonly Role[] {
  const said = given.roles ?? staticRoles(nodeId, given) ?? remembered?.roles
  if (said !== undefined) return said
  // A voter that lost its folder: until it votes again, the cluster counts one that never answers.
  const isWanted = voterIds.size < CONTROLLERS_WANTED || voterIds.has(nodeId)
  return votersCanChange && isWanted ? ROLES : ['broker']
}

/** Where the voters are fixed, they are the controllers. */
function staticRoles(nodeId: number, { staticVoters }: GivenMembership): readonly Role[] | undefined {
  if (staticVoters.length === 0) return undefined
  return staticVoters.some(({ id }) => id === nodeId) ? ROLES : ['broker']
}

function freeId(taken: ReadonlySet<number>): number {
  let id = 1
  while (taken.has(id)) id++
  return id
}

async function untilAnswered(
  env: Env,
  addresses: readonly Address[],
  { isCancelled, hint }: { isCancelled: () => boolean; hint: string },
): Promise<ClusterFacts> {
  for (let round = 0; ; round++) {
    const answer = await askOnce(env, addresses)
    if (isCancelled()) throw new JoinStoppedError('the node was stopped while it looked for its cluster')
    if (!(answer instanceof ClientError)) return answer
    const nodes = printed(addresses)
    if (!answer.retriable) throw new MembershipRefusedError(`cannot join at ${nodes}: ${answer.message}`)
    if (round % ROUNDS_PER_WARNING === 0) {
      env.log.warn('No node of the cluster answers yet; waiting', { nodes, reason: answer.message, hint })
    }
    await sleep(env.timers, RETRY_MS)
  }
}

/** The first answer, in the order of the addresses; why the last one gave none. */
async function askOnce(env: Env, addresses: readonly Address[]): Promise<ClusterFacts | ClientError> {
  let failure: ClientError | null = null
  for (const address of addresses) {
    try {
      return await askCluster(env, address)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      failure = error
    }
  }
  return failure as ClientError
}

function unique(addresses: readonly Address[]): Address[] {
  return [...new Map(addresses.map(({ host, port }) => [formatAddress({ host, port }), { host, port }])).values()]
}

function printed(addresses: readonly Address[]): string {
  return addresses.map(formatAddress).join(',')
}

/** Whether a controller that joins asks to vote (`controller.quorum.auto.join.enable`): unless it was told not to. */
export function joinsByItself({ membership, given, settings }: NodeConfig): boolean {
  if (membership.forms || given.staticVoters.length > 0) return false
  const key = 'controller.quorum.auto.join.enable'
  return !settings.isSet(key) || settings.boolean(key)
}
