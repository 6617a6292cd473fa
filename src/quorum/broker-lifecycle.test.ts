import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrokerRegistrationResponse } from '../protocol/apis/broker-registration.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { ManualEnv } from '../testing/manual-env.ts'
import { BrokerLifecycle, type ControllerChannel } from './broker-lifecycle.ts'

/** A broker whose controller answers, or is not there (an error); and what the broker logs of it. */
function registering(answer: () => BrokerRegistrationResponse | Error) {
  const world = new ManualEnv()
  const said: string[] = []
  const log = { ...world.env.log, warn: (message: string) => said.push(message) }
  const send = async () => {
    const response = answer()
    if (response instanceof Error) throw response
    return response
  }
  const lifecycle = new BrokerLifecycle(
    { ...world.env, log },
    {
      brokerId: 2,
      clusterId: 'cluster',
      directoryId: 'directory',
      listeners: [],
      rack: null,
      previousBrokerEpoch: null,
      ownIncarnations: [],
      countsDurable: true,
      heartbeatIntervalMs: 500,
      sessionMs: () => 3000,
      controller: { send: send as ControllerChannel['send'] },
      appliedOffset: () => 0,
      outOfSpace: () => 0,
      onRefused: (error) => said.push(error.message),
    },
  )
  return { world, said, lifecycle }
}

function answerOf(errorCode: number): BrokerRegistrationResponse {
  return { throttleTimeMs: 0, errorCode, brokerEpoch: errorCode === ErrorCode.NONE ? 7 : -1 }
}

test('a broker that waits for its controller says so now and then, not at every try', async () => {
  const { world, said, lifecycle } = registering(() => new Error('no active controller is known'))
  const registered = lifecycle.register()
  for (let second = 0; second < 50; second++) await world.advance(1000)
  assert.deepEqual(said, ['No controller took the registration', 'No controller took the registration'])
  lifecycle.abandon()
  await world.advance(1000)
  assert.equal(await registered, -1)
})

test('a broker whose number is in use says that it waits, and takes the place when it is free', async () => {
  let errorCode: number = ErrorCode.DUPLICATE_BROKER_REGISTRATION
  const { world, said, lifecycle } = registering(() => answerOf(errorCode))
  const registered = lifecycle.register()
  for (let second = 0; second < 5; second++) await world.advance(1000)
  assert.deepEqual(said, ['Another process is this node in the cluster; waiting until it is gone'])
  errorCode = ErrorCode.NONE
  await world.advance(1000)
  assert.equal(await registered, 7)
  lifecycle.abandon()
})

// A controller whose disk is full says REQUEST_TIMED_OUT: brokers ended of it, in the middle of their start or of their work.
test('a controller that cannot write anything down just now is asked again', async () => {
  const codes: number[] = [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER]
  const { world, said, lifecycle } = registering(() => answerOf(codes.shift() ?? ErrorCode.NONE))
  const registered = lifecycle.register()
  for (let i = 0; i < 20; i++) await world.advance(50)
  assert.equal(await registered, 7)
  codes.push(ErrorCode.REQUEST_TIMED_OUT)
  for (let i = 0; i < 40; i++) await world.advance(50)
  assert.deepEqual([codes, said], [[], []])
  lifecycle.abandon()
})
