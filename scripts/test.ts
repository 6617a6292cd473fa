/**
 * `npm test`: the tests beside the code and the quick whole-system tests. Arguments that begin with `-` go to node's
 * test runner; others select files whose path contains one of them. `--fast` leaves the whole-system tests out.
 */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { root } from '../test/support/files.ts'
import { haveKafka, kafkaLibs } from '../test/support/kafka-oracle.ts'

const args = process.argv.slice(2)
const words = args.filter((arg) => !arg.startsWith('-'))
const options = args.filter((arg) => arg.startsWith('-') && arg !== '--fast')
const patterns = ['src/**/*.test.ts', 'scripts/**/*.test.ts', ...(args.includes('--fast') ? [] : ['test/**/*.test.ts'])]
const files = globSync(patterns, { cwd: root })
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort()
if (files.length === 0) {
  console.error(`no test file matches ${words.join(' ')}`)
  process.exit(2)
}

const { status } = spawnSync(
  process.execPath,
  ['--test', `--test-concurrency=${availableParallelism()}`, '--test-timeout=300000', ...options, ...files],
  {
    cwd: root,
    stdio: 'inherit',
    env: haveKafka() ? { ...process.env, MILLRACE_KAFKA_LIBS: kafkaLibs() } : process.env,
  },
)
process.exit(status ?? 1)
