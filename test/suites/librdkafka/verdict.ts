/** What the runner says of one test. A test that was left out counts as neither passed nor failed. */
export interface Verdict {
  readonly name: string
  readonly status: 'passed' | 'failed' | 'skipped'
  /** Why it failed or was left out, in the runner's words. */
  readonly reason: string
}

const colour = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')
/** `| 0001_multiobj   |     PASSED |   1.037s | reason` */
const summaryLine = /^\| +(\d{4}_\S+) +\| +(PASSED|FAILED|SKIPPED) \|[^|]*\| *(.*)$/gm
const statuses = { PASSED: 'passed', FAILED: 'failed', SKIPPED: 'skipped' } as const

/**
 * Reads what `test-runner` printed for one number. Many of its failures are an abort, which leaves no summary: then
 * the test that was running has failed.
 */
export function verdicts(output: string, exitCode: number): Verdict[] {
  const text = output.replace(colour, '')
  const listed = [...text.matchAll(summaryLine)].map(([, name = '', word, reason = '']): Verdict => {
    const status = statuses[word as keyof typeof statuses]
    return { name, status, reason: status === 'failed' ? failure(text) : reason.trim() }
  })
  // Others share the number: those that need no broker, and, without a reason, those of another scenario.
  const wanted = listed.filter(({ status, reason }) => status !== 'skipped' || !/^$|^Filtered due to/.test(reason))
  if (exitCode === 0 || wanted.some(({ status }) => status === 'failed')) return wanted
  return [...wanted, { name: runningTest(text), status: 'failed', reason: failure(text, exitCode) }]
}

function runningTest(text: string): string {
  return [...text.matchAll(/= Running test (\S+) =/g)].at(-1)?.[1] ?? ''
}

/** The runner's own line about its first failure, without times and places in its files. */
function failure(text: string, exitCode = 1): string {
  const told = /^### Test "[^"]*".* failed at .*: ###\n(.*)$/m.exec(text)?.[1]
  if (told !== undefined) return told.trim()
  return exitCode === -1 ? 'did not end in time' : `ended with ${exitCode}`
}
