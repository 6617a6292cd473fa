import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verdicts } from './verdict.ts'

const frame = '#==================================================================#'

test('a number with several tests tells each, and those left out on purpose not at all', () => {
  const output = `${frame}
|\u001b[32m <MAIN>                                   |     PASSED |   1.2s \u001b[0m|
|\u001b[32m 0022_consume_batch                       |     PASSED |   1.0s \u001b[0m|
|\u001b[36m 0022_consume_batch_local                 |    SKIPPED |   0.0s \u001b[0m| Filtered due to negative test flags
|\u001b[36m 0022_of_another_scenario                 |    SKIPPED |   0.0s \u001b[0m|\u001b[36m \u001b[0m
|\u001b[36m 0022_with_tls                            |    SKIPPED |   0.0s \u001b[0m|\u001b[36m Test requires TLS\u001b[0m
${frame}`
  assert.deepEqual(verdicts(output, 0), [
    { name: '0022_consume_batch', status: 'passed', reason: '' },
    { name: '0022_with_tls', status: 'skipped', reason: 'Test requires TLS' },
  ])
})

test('an abort, which leaves no summary, is a failure of the test that ran', () => {
  const output = `[0081_admin  / 0.0s] ================= Running test 0081_admin =================
[0081_admin  / 11.7s] TEST FAILURE
### Test "0081_admin (do_test_CreateAcls:1539)" failed at 0081-admin.c:1604:do_test_CreateAcls() at Mon Nov 30: ###
Test assertion failed: "!err": Expected success, not _UNSUPPORTED_FEATURE
test-runner: test.c:7505: test_fail0: Assertion \`0' failed.`
  assert.deepEqual(verdicts(output, 134), [
    {
      name: '0081_admin',
      status: 'failed',
      reason: 'Test assertion failed: "!err": Expected success, not _UNSUPPORTED_FEATURE',
    },
  ])
  assert.equal(verdicts('= Running test 0012_produce_consume =\n', -1)[0]?.reason, 'did not end in time')
})
