import type { Timer } from '../env/clock.ts'
import type { Env } from '../env/env.ts'
import type { Address } from '../env/net.ts'
import { AddRaftVoter } from '../protocol/apis/add-raft-voter.ts'
import { RemoveRaftVoter } from '../protocol/apis/remove-raft-voter.ts'
import { ErrorCode, errorName } from '../protocol/errors.ts'
import type { Raft } from '../raft/raft.ts'
import type { Endpoint, ReplicaKey } from '../raft/types.ts'
import type { Peers } from '../rpc/peers.ts'

export interface AutoJoinOptions {
  readonly peers: Peers
  readonly clusterId: string
  readonly self: ReplicaKey
  readonly endpoints: readonly Endpoint[]
  /** The number is this node's: whoever votes under it is on a disk that was lost. */
  readonly mayReplace: boolean
  readonly quorum: Pick<Raft, 'voters' | 'kraftVersion'>
  leaderAddress(): Address | null
}

/** Its answer may take long: it has a connection of its own. */
const LANE = 'raft-join'
const RETRY_MS = 250
/** How long the leader may wait for this node to be level. */
const TIMEOUT_MS = 10_000
/** For the answer to get here. */
const SLACK_MS = 1000

/**
 * A controller that only follows asks the leader to make it a voter, over and over until it is one (KIP-853, KIP-1186).
 * Once it has been one it does not ask again: who was taken out by an operator stays out. Under its number another
 * directory may still be a voter, that of a disk which was lost: that one is taken out first.
 */
export class AutoJoin {
  readonly #env: Env
  readonly #options: AutoJoinOptions
  #timer: Timer | null = null
  #isDone = false
  #hasGivenWay = false

  constructor(env: Env, options: AutoJoinOptions) {
    this.#env = env
    this.#options = options
  }

  /** This node knows the log. */
  start(): void {
    if (!this.#isDone)
      this.#try().then(
        () => this.#tryAgain(),
        () => this.#tryAgain(),
      )
  }

  #tryAgain(): void {
    if (this.#isDone) return
    this.#timer = this.#env.timers.after(RETRY_MS, () => this.start())
  }

  async #try(): Promise<void> {
    const { quorum, leaderAddress, self } = this.#options
    const { voters, kraftVersion } = quorum
    if (voters.has(self)) {
      this.stop()
      return
    }
    const address = leaderAddress()
    if (address === null || kraftVersion === 0) return
    const former = voters.byId(self.id)
    if (former !== null && !this.#options.mayReplace) return this.#giveWay(former.voterDirectoryId)
    const response = await (former === null ? this.#add(address) : this.#remove(address, former.voterDirectoryId))
    if (response.errorCode === ErrorCode.NONE) return
    this.#env.log.info('This controller is not a voter yet', {
      reason: errorName(response.errorCode),
      message: response.errorMessage,
    })
  }

  /** It may be alive: an operator has to say that it is not. Asked for until then, told once. */
  #giveWay(voterDirectoryId: string): void {
    if (this.#hasGivenWay) return
    this.#hasGivenWay = true
    this.#env.log.error(
      'A voter on another disk has the number of this node: remove it, or give this node another number',
      {
        voterId: this.#options.self.id,
        voterDirectoryId,
      },
    )
  }

  #add(address: Address) {
    const { peers, clusterId, self, endpoints } = this.#options
    const body = (version: number) => ({
      clusterId,
      timeoutMs: TIMEOUT_MS,
      voterId: self.id,
      voterDirectoryId: self.directoryId,
      listeners: endpoints,
      // This node sees the commit in the log. Version 0 knows no other way than to wait for it.
      ackWhenCommitted: version === 0,
    })
    return peers.request(address, LANE, AddRaftVoter, body, { timeoutMs: TIMEOUT_MS + SLACK_MS })
  }

  #remove(address: Address, voterDirectoryId: string) {
    const { peers, clusterId, self } = this.#options
    this.#env.log.warn('The directory of a lost disk is still a voter under the number of this node', {
      voterDirectoryId,
    })
    const body = { clusterId, voterId: self.id, voterDirectoryId }
    return peers.request(address, LANE, RemoveRaftVoter, body, { timeoutMs: TIMEOUT_MS })
  }

  stop(): void {
    this.#isDone = true
    this.#timer?.cancel()
  }
}
