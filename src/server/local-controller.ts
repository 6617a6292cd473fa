import type { ControllerApi } from '../controller/shard.ts'
import { LogUnavailableError } from '../env/replicated-log.ts'
import type { RequestOf, ResponseOf } from '../protocol/schema.ts'
import type { MetadataController } from '../quorum/metadata-controller.ts'
import { type ControllerChannel, ControllerUnavailableError } from './controller-channel.ts'

/** The way to the controller of a node that is its own quorum: a call. */
export class LocalController implements ControllerChannel {
  readonly #controller: MetadataController

  constructor(controller: MetadataController) {
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
      if (!(error instanceof LogUnavailableError)) throw error
      throw new ControllerUnavailableError(error.message, { cause: error })
    }
  }
}
