import type { Address } from '../../env/net.ts'
import { formatAddress, parseHostPort } from './listeners.ts'
import type { Settings } from './settings.ts'

export type Role = 'broker' | 'controller'
export const ROLES: readonly Role[] = ['broker', 'controller']

/** A voter of a quorum that cannot change: one of `controller.quorum.voters`. */
export interface StaticVoter extends Address {
  readonly id: number
}

/** What was said of this node's place in a cluster. What was not said is null or empty, and is found out at the start. */
export interface GivenMembership {
  readonly nodeId: number | null
  readonly roles: readonly Role[] | null
  /** `--join`: any listener of any nodes of a cluster. */
  readonly join: readonly Address[]
  /** `controller.quorum.bootstrap.servers`, without this node's own address. */
  readonly bootstrap: readonly Address[]
  /** `controller.quorum.voters`, when that names others than this node. */
  readonly staticVoters: readonly StaticVoter[]
}

/** What holds for this start. */
export interface Membership {
  readonly roles: readonly Role[]
  /** An empty folder becomes a cluster of its own; else it waits for the one it belongs to. */
  readonly forms: boolean
  /** Of the cluster that was found; null: the folder knows, or it is to be a new one. */
  readonly clusterId: string | null
  /** The node id was chosen for want of any other reason, and belongs to whoever else has it. */
  readonly givesWay: boolean
  /** Where controllers listen, for as long as the metadata log does not say. */
  readonly bootstrap: readonly Address[]
}

/** A node that nobody told anything is a cluster. */
export const ALONE: Membership = { roles: ROLES, forms: true, clusterId: null, givesWay: false, bootstrap: [] }

/** `own` are this node's addresses: the same list of nodes may be given to all of them. */
export function givenMembership(settings: Settings, own: readonly Address[], errors: string[]): GivenMembership {
  const isOther = (address: Address) => !own.some((each) => formatAddress(each) === formatAddress(address))
  const named = addressesOf(settings, 'join', errors)
  const join = named.filter(isOther)
  if (named.length > 0 && join.length === 0) {
    errors.push(
      `${settings.describe('join')} names only this node itself; the first node of a cluster starts without it`,
    )
  }
  const nodeId = nodeIdOf(settings, errors)
  return {
    nodeId,
    roles: rolesOf(settings),
    join,
    bootstrap: addressesOf(settings, 'controller.quorum.bootstrap.servers', errors).filter(isOther),
    staticVoters: staticVotersOf(settings, nodeId, errors),
  }
}

/** Nothing was said of any other node. */
export function formsCluster({ join, bootstrap, staticVoters }: GivenMembership): boolean {
  return join.length === 0 && bootstrap.length === 0 && staticVoters.length === 0
}

function nodeIdOf(settings: Settings, errors: string[]): number | null {
  if (!settings.isSet('node.id')) return null
  const nodeId = settings.number('node.id')
  if (nodeId < 0) errors.push(`${settings.describe('node.id')}: a node id is 0 or above`)
  return nodeId
}

/** Null when nothing was said. In the order of `ROLES`. */
function rolesOf(settings: Settings): readonly Role[] | null {
  const named = settings.list('process.roles')
  if (named.length === 0) return null
  return ROLES.filter((role) => named.includes(role))
}

function addressesOf(settings: Settings, key: string, errors: string[]): Address[] {
  return settings.list(key).flatMap((text) => {
    const address = parseHostPort(text)
    if (address !== null && address.host !== '' && address.port > 0) return [address]
    errors.push(`${settings.describe(key)}: '${text}' is not host:port`)
    return []
  })
}

/** Empty for a quorum that is this node alone: it may as well grow one day. */
function staticVotersOf(settings: Settings, nodeId: number | null, errors: string[]): StaticVoter[] {
  const key = 'controller.quorum.voters'
  const voters = settings.list(key).flatMap((text) => {
    const match = /^(\d+)@(.+)$/.exec(text.trim())
    const address = parseHostPort(match?.[2] ?? '')
    if (match !== null && address !== null && address.host !== '') return [{ id: Number(match[1]), ...address }]
    errors.push(`${settings.describe(key)}: '${text}' is not id@host:port`)
    return []
  })
  const isAlone = voters.length === 1 && voters[0]?.id === (nodeId ?? DEFAULT_NODE_ID)
  return isAlone ? [] : voters
}

/** Of a node that is a cluster of its own and was given no number. */
export const DEFAULT_NODE_ID = 1
