import { AllocateProducerIds } from '../protocol/apis/allocate-producer-ids.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { type ControllerChannel, ControllerUnavailableError } from './controller-channel.ts'
import type { ProducerIds } from './handlers/init-producer-id.ts'

/**
 * Hands out producer ids from blocks that the controller gave to this broker. A block that a crash left half used is
 * never used again: ids are plenty, and must never come twice.
 */
export class ProducerIdBlocks implements ProducerIds {
  readonly #channel: ControllerChannel
  readonly #broker: () => { readonly brokerId: number; readonly brokerEpoch: number }
  #next = 0
  #end = 0
  /** One request at a time, shared by all who wait. */
  #asking: Promise<number> | null = null

  constructor(channel: ControllerChannel, broker: () => { readonly brokerId: number; readonly brokerEpoch: number }) {
    this.#channel = channel
    this.#broker = broker
  }

  async next(): Promise<{ readonly producerId: number } | { readonly errorCode: number }> {
    while (this.#next >= this.#end) {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = null
      })
      const errorCode = await this.#asking
      // Others who waited too may have used up the new block meanwhile: then once more.
      if (errorCode !== ErrorCode.NONE) return { errorCode }
    }
    return { producerId: this.#next++ }
  }

  async #ask(): Promise<number> {
    try {
      const block = await this.#channel.send(AllocateProducerIds, this.#broker())
      if (block.errorCode !== ErrorCode.NONE) return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
      this.#next = block.producerIdStart
      this.#end = block.producerIdStart + block.producerIdLen
      return ErrorCode.NONE
    } catch (error) {
      // Retriable for every producer, which "not available" would not be for some.
      if (error instanceof ControllerUnavailableError) return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
      throw error
    }
  }
}
