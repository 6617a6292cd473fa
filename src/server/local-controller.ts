import type { ControllerApi } from '../controller/shard.ts'
import { LogUnavailableError } from '../env/replicated-log.ts'
import type { RequestOf, ResponseOf } from '../protocol/schema.ts'
import { NotControllerError } from '../quorum/errors.ts'
import type { Quorum } from '../quorum/quorum.ts'
import { type ControllerChannel, ControllerUnavailableError } from './controller-channel.ts'

/** The way to the controller of a node that is its own quorum: a call. */
export class LocalController implements ControllerChannel {
  readonly #controller: Quorum

  constructor(controller: Quorum) {
    this.#controller = controller
  }

  async send<A extends ControllerApi>(
    api: A,
    request: RequestOf<A>,
    version = api.versions[1],
  ): Promise<ResponseOf<A>> {
    try {
      return await this.#controller.handle(api, request, version)
    } catch (error) {
      if (!(error instanceof LogUnavailableError || error instanceof NotControllerError)) throw error
      throw new ControllerUnavailableError(error.message, { cause: error })
    }
  }
}
