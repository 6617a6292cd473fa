import type { Step } from '../step.ts'
import type { Model } from '../model.ts'
import { isFlexible } from '../../../src/protocol/codec.ts'

/** Kafka answers ApiVersions of any version, in version 0. */
const API_VERSIONS = 18

/** A tagged field that nobody knows at the end of the body, which clients of the future may send. */
export function withUnknownTag(step: Step, { random }: Model): Step {
  const { api, version } = step
  if (!isFlexible(api, version) || step.spoil !== undefined) return step
  const content = random.bytes(random.below(20))
  return {
    ...step,
    spoil: (frame) => {
      // The last byte counts the tagged fields of the whole request; with some already there it is left as it is.
      if (frame.at(-1) !== 0) return frame
      return reframed(
        Buffer.concat([frame.subarray(0, -1), Buffer.from([1, 0xa0, 0x9c, 0x01, content.length]), content]),
      )
    },
  }
}

/** More bytes than the request has. */
export function withMoreBytes(step: Step): Step {
  return { ...step, spoil: (frame) => reframed(Buffer.concat([frame, Buffer.alloc(3)])) }
}

/** Fewer bytes than the request has. */
export function cutShort(step: Step, { random }: Model): Step {
  const bytes = random.pick([1, 2, 5])
  return { ...step, channel: 'cut', spoil: (frame) => reframed(frame.subarray(0, -bytes)) }
}

/** A version of the API that there is not. */
export function inUnknownVersion(step: Step, { random }: Model): Step {
  if (step.api.key === API_VERSIONS) return step
  const version = random.pick([step.api.versions[1] + 1, step.api.versions[1] + 50, -1])
  return {
    ...step,
    channel: 'unknown',
    spoil: (frame) => {
      frame.writeInt16BE(version, 6)
      return frame
    },
  }
}

/** An API that there is not. */
export function ofUnknownApi(step: Step, { random }: Model): Step {
  const key = random.pick([-1, 4, 5, 6, 7, 999, 32_767])
  return {
    ...step,
    channel: 'unknown',
    spoil: (frame) => {
      frame.writeInt16BE(key, 4)
      return frame
    },
  }
}

function reframed(frame: Buffer): Buffer {
  const copy = Buffer.from(frame)
  copy.writeInt32BE(copy.length - 4, 0)
  return copy
}
