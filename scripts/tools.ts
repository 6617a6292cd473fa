/**
 * `npm run tools`: fetches what the checks beyond plain `npm test` need, into .cache: Apache Kafka's jars (Maven) and
 * the Python clients. What only the system's package manager can give is named, not installed.
 */
import { fetchKafka } from '../test/support/kafka-oracle.ts'
import { fetchPythonClients, missingTools } from '../test/support/toolchain.ts'

console.log(`Apache Kafka: ${await fetchKafka()}`)
await fetchPythonClients()
const missing = await missingTools(['kafka', 'kcat', 'python-client', 'python-clients', 'strace', 'mount', 'promtool'])
if (missing.length === 0) console.log('all tools are here')
else
  console.log(
    `still missing: ${missing.join(', ')} (Debian: apt-get install kcat strace e2fsprogs; promtool is in prometheus; mount needs root)`,
  )
