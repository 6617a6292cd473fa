/**
 * `npm run suite -- librdkafka [--server millrace|kafka]... [--tests 0001,0002] [--write]`
 *
 * Other projects' own tests against a real process of ours and, for comparison, of Apache Kafka. Their sources are
 * fetched and built in .cache. `--tests` takes only these numbers; `--write` puts the table into
 * docs/compatibility-suites.md. Ends with 1 when a test that passes on Kafka fails on Millrace and is not excused.
 */
import { runLibrdkafka } from './librdkafka/suite.ts'
import { scriptOptions } from '../support/script-options.ts'
import type { ServerKind } from '../support/server.ts'

const { values, positionals } = scriptOptions(import.meta.filename, {
  allowPositionals: true,
  options: {
    server: { type: 'string', multiple: true, default: ['millrace'] },
    tests: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
if (positionals[0] !== 'librdkafka') {
  console.error(`${positionals[0] ?? 'no suite named'}: the suites here are: librdkafka`)
  process.exit(2)
}
if (values.write && values.tests !== undefined) {
  console.error('--write with --tests: the page holds the table of all tests')
  process.exit(2)
}
const servers = values.server.map((name): ServerKind => {
  if (name === 'millrace' || name === 'kafka') return name
  console.error(`--server ${name}: millrace or kafka`)
  process.exit(2)
})
process.exit(await runLibrdkafka({ servers, tests: values.tests?.split(',') ?? null, write: values.write }))
