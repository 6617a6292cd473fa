import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorCode } from '../../protocol/errors.ts'
import { withLoggers } from './logger-levels.ts'

const LOGGER = 8
const TOPIC = 2
const SET = 0
const DELETE = 1
const APPEND = 2

function ask(...resources: { type: number; name: string; configs: [string, number, string | null][] }[]) {
  const levels: string[] = []
  const forwarded: string[] = []
  const request = {
    validateOnly: false,
    resources: resources.map(({ type, name, configs }) => ({
      resourceType: type,
      resourceName: name,
      configs: configs.map(([key, configOperation, value]) => ({ name: key, configOperation, value })),
    })),
  }
  const answer = withLoggers({ nodeId: 1, setLevel: (level) => levels.push(level) }, request, async (rest) => {
    forwarded.push(...rest.resources.map(({ resourceName }) => resourceName))
    return {
      responses: rest.resources.map(({ resourceType, resourceName }) => {
        return { resourceType, resourceName, errorCode: 0, errorMessage: null }
      }),
    }
  })
  return answer.then(({ responses }) => ({ levels, forwarded, errors: responses.map(({ errorCode }) => errorCode) }))
}

test('this node sets the level of its logger itself; the rest goes to the controller', async () => {
  const both = await ask(
    { type: TOPIC, name: 'orders', configs: [['retention.ms', SET, '1']] },
    { type: LOGGER, name: '1', configs: [['root', SET, 'DEBUG']] },
  )
  assert.deepEqual(both, { levels: ['DEBUG'], forwarded: ['orders'], errors: [0, 0] })
  assert.deepEqual((await ask({ type: LOGGER, name: '1', configs: [['root', DELETE, null]] })).levels, ['INFO'])
})

test('another broker, an unknown logger or level, and other operations are refused and change nothing', async () => {
  const cases: [string, string, number, string, number][] = [
    ['2', 'root', SET, 'DEBUG', ErrorCode.INVALID_REQUEST],
    ['1', 'kafka.server', SET, 'DEBUG', ErrorCode.INVALID_CONFIG],
    ['1', 'root', SET, 'LOUD', ErrorCode.INVALID_CONFIG],
    ['1', 'root', APPEND, 'DEBUG', ErrorCode.INVALID_REQUEST],
  ]
  for (const [name, logger, operation, level, errorCode] of cases) {
    const { levels, errors } = await ask({ type: LOGGER, name, configs: [[logger, operation, level]] })
    assert.deepEqual([levels, errors], [[], [errorCode]])
  }
})
