import { lookup } from 'node:dns/promises'
import type { Env } from '../../env/env.ts'
import type { Address } from '../../env/net.ts'
import { ApiVersions } from '../../protocol/apis/api-versions.ts'
import { DescribeCluster, type DescribeClusterResponse } from '../../protocol/apis/describe-cluster.ts'
import { DescribeConfigs } from '../../protocol/apis/describe-configs.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import { BrokerConnection } from '../../rpc/connection.ts'
import { ClientError } from '../../rpc/errors.ts'
import type { ClockOffset } from './limits.ts'

/** What the server at an address says of itself. */
export interface NodeAnswer {
  readonly resolved: readonly string[]
  readonly connectMs: number
  readonly described: DescribeClusterResponse
  /** Null: the server does not tell the time. */
  readonly clock: ClockOffset | null
  /** Ranges of the APIs that it speaks: those of one version are the same. */
  readonly apis: string
}

/** Why nobody could be asked there. */
export class Unreachable {
  readonly text: string
  readonly advice: string

  constructor(text: string, advice: string) {
    this.text = text
    this.advice = advice
  }
}

const OPTIONS = { clientId: 'millrace-doctor', connectTimeoutMs: 3000, requestTimeoutMs: 5000 }
const SOFTWARE = { clientSoftwareName: 'millrace', clientSoftwareVersion: '0.1.0' }
/** From this version a server says whether it is the one that was meant (KIP-1242). */
const IDENTITY_VERSION = 5
const BROKER_RESOURCE = 4
const CLOCK_SAMPLES = 5

export async function askAddress(env: Env, address: Address): Promise<NodeAnswer | Unreachable> {
  const resolved = await resolve(address.host)
  if (resolved instanceof Unreachable) return resolved
  const startMs = env.clock.monotonicMs()
  try {
    const connection = await BrokerConnection.open(env.net, env.timers, address, OPTIONS)
    const connectMs = env.clock.monotonicMs() - startMs
    try {
      const { described, clock } = await describe(env, connection)
      const { apiKeys } = await connection.request(ApiVersions, SOFTWARE)
      const apis = apiKeys.map(({ apiKey, minVersion, maxVersion }) => `${apiKey}:${minVersion}-${maxVersion}`).join()
      return { resolved, connectMs, described, clock, apis }
    } finally {
      connection.close()
    }
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    return new Unreachable(
      error.message,
      'is the node running, does it listen there, and does a firewall let this machine in?',
    )
  }
}

async function resolve(host: string): Promise<readonly string[] | Unreachable> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return new Unreachable(
      `the name ${host} is not known here (${code})`,
      'advertise a name that clients can resolve, or add it to DNS',
    )
  }
}

/** The fastest of several questions tells most exactly what time it is there. */
async function describe(env: Env, connection: BrokerConnection) {
  let clock: ClockOffset | null = null
  for (let sample = 1; ; sample++) {
    const sentMs = env.clock.wallMs()
    const startMs = env.clock.monotonicMs()
    const described = await connection.request(DescribeCluster, (version) => ({
      includeClusterAuthorizedOperations: false,
      includeSelf: true,
      ...(version >= 2 ? { includeFencedBrokers: true } : {}),
    }))
    const withinMs = Math.max(1, (env.clock.monotonicMs() - startMs) / 2)
    const offsetMs = described.wallTimeMs - (sentMs + withinMs)
    if (described.wallTimeMs < 0) return { described, clock: null }
    if (clock === null || withinMs < clock.withinMs) clock = { offsetMs, withinMs }
    if (sample === CLOCK_SAMPLES) return { described, clock }
  }
}

/** Whether the server there is that node of that cluster. */
export async function isNode(env: Env, address: Address, nodeId: number, clusterId: string): Promise<boolean> {
  const connection = await BrokerConnection.open(env.net, env.timers, address, OPTIONS)
  try {
    if (connection.versionOf(ApiVersions) >= IDENTITY_VERSION) {
      const { errorCode } = await connection.request(ApiVersions, { ...SOFTWARE, clusterId, nodeId })
      return errorCode !== ErrorCode.REBOOTSTRAP_REQUIRED
    }
    // What a broker alone knows of itself it refuses to say of another.
    const { results } = await connection.request(DescribeConfigs, {
      resources: [{ resourceType: BROKER_RESOURCE, resourceName: String(nodeId), configurationKeys: ['node.id'] }],
    })
    return results[0]?.errorCode === ErrorCode.NONE
  } finally {
    connection.close()
  }
}
