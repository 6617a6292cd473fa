import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode } from '../protocol/errors.ts'
import { type ControllerChannel, ControllerUnavailableError } from './controller-channel.ts'
import { ProducerIdBlocks } from './producer-id-blocks.ts'

/** Gives blocks of three ids. */
class Blocks {
  asked = 0
  isAway = false

  readonly send = async () => {
    this.asked++
    if (this.isAway) throw new ControllerUnavailableError('away')
    return { throttleTimeMs: 0, errorCode: 0, producerIdStart: this.asked * 100, producerIdLen: 3 }
  }
}

function idsFrom(blocks: Blocks): ProducerIdBlocks {
  return new ProducerIdBlocks(blocks as unknown as ControllerChannel, () => ({ brokerId: 1, brokerEpoch: 5 }))
}

test('no id comes twice, however many ask at once, and blocks are asked for one at a time', async () => {
  const blocks = new Blocks()
  const ids = idsFrom(blocks)
  const given = await Promise.all(Array.from({ length: 7 }, () => ids.next()))
  const numbers = given.map((answer) => ('producerId' in answer ? answer.producerId : -1))
  assert.deepEqual(
    numbers.sort((a, b) => a - b),
    [100, 101, 102, 200, 201, 202, 300],
  )
  assert.equal(blocks.asked, 3)
})

test('without a controller a producer is told to ask again, and then gets its id', async () => {
  const blocks = new Blocks()
  const ids = idsFrom(blocks)
  blocks.isAway = true
  assert.deepEqual(await ids.next(), { errorCode: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS })
  blocks.isAway = false
  assert.deepEqual(await ids.next(), { producerId: 200 })
})
