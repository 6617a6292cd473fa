import { DiskError } from '../../env/disk.ts'
import type { Env } from '../../env/env.ts'
import { NetError } from '../../env/net.ts'
import { RegistrationRefusedError } from '../../quorum/broker-lifecycle.ts'
import { VoterInUseError } from '../../quorum/errors.ts'
import { MetadataUnreadableError } from '../../quorum/snapshots.ts'
import type { NodeConfig } from '../../server/config/node-config.ts'
import {
  JoinStoppedError,
  MembershipRefusedError,
  resolveMembership,
  withOtherId,
} from '../../server/join/membership.ts'
import type { HealthReport } from '../../server/http/health.ts'
import type { HttpSource } from '../../server/http/http-routes.ts'
import type { Family } from '../../server/metrics/family.ts'
import { Node } from '../../server/node.ts'
import { NodeIdTakenError, type NodeOptions, StartStoppedError } from '../../server/node-options.ts'
import { CorruptLogError, DataFolderError } from '../../storage/errors.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { ProcessMetrics } from './process-metrics.ts'

/**
 * The node of this process, from the search for its place in a cluster to its end. Life cycle: `start` once, `stop` at any
 * time.
 */
export class NodeRun implements HttpSource {
  readonly #env: Env
  readonly #given: NodeConfig
  readonly #options: NodeOptions
  readonly #process = new ProcessMetrics()
  #node: Node | null = null
  #isStopping = false

  constructor(env: Env, given: NodeConfig, options: NodeOptions) {
    this.#env = env
    this.#given = given
    this.#options = options
  }

  /** Resolves when the node serves; never when it is stopped before. Rejects with `CommandError`. */
  async start(): Promise<Node> {
    try {
      let config = await resolveMembership(this.#env, this.#given, () => this.#isStopping)
      for (;;) {
        const outcome = await this.#tryStart(config)
        if (outcome instanceof Node) return outcome
        config = await withOtherId(this.#env, config, outcome.taken)
      }
    } catch (error) {
      if (error instanceof StartStoppedError || error instanceof JoinStoppedError) return await new Promise(() => {})
      const refusal = refusalOf(error)
      if (refusal === null) this.#options.onBug(error)
      await this.#node?.stop()
      throw refusal ?? error
    }
  }

  async #tryStart(config: NodeConfig): Promise<Node | NodeIdTakenError> {
    if (this.#isStopping) throw new StartStoppedError('the node was stopped before it started')
    const node = new Node(this.#env, config, this.#options)
    this.#node = node
    try {
      await node.start()
      return node
    } catch (error) {
      if (!(error instanceof NodeIdTakenError)) throw error
      await node.stop()
      return error
    }
  }

  health(): HealthReport {
    return this.#node?.health() ?? LOOKING
  }

  async metrics(): Promise<Family[]> {
    return [...((await this.#node?.metrics()) ?? []), ...this.#process.families()]
  }

  /** Whether everything was written down. */
  async stop(): Promise<boolean> {
    this.#isStopping = true
    return (await this.#node?.stop()) ?? true
  }
}

/** Before there is a node, for as long as no other one of its cluster answers. */
const LOOKING: HealthReport = {
  live: [{ name: 'event loop', problem: null }],
  ready: [{ name: 'start', problem: 'looking for its cluster' }],
}

/** Why the node cannot start, when that is not a bug of ours. */
export function refusalOf(error: unknown): CommandError | null {
  if (error instanceof MembershipRefusedError) return new CommandError(ExitCode.dataRefused, error.message)
  if (error instanceof DataFolderError) return new CommandError(ExitCode.dataRefused, error.message)
  if (error instanceof NetError) return new CommandError(ExitCode.addressRefused, error.message)
  if (error instanceof DiskError) return new CommandError(ExitCode.dataRefused, error.message)
  if (error instanceof MetadataUnreadableError) return new CommandError(ExitCode.dataRefused, error.message)
  if (error instanceof CorruptLogError) return new CommandError(ExitCode.dataRefused, error.message)
  if (error instanceof VoterInUseError) return new CommandError(ExitCode.dataRefused, error.message)
  if (error instanceof RegistrationRefusedError) return new CommandError(ExitCode.failed, error.message)
  return null
}

/** The cluster, not this node, is why it cannot go on. */
export function isUnwanted(error: unknown): boolean {
  const isCopy = error instanceof VoterInUseError
  return isCopy || error instanceof MetadataUnreadableError || error instanceof RegistrationRefusedError
}
