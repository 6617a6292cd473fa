/**
 * `prober.ts ADDRESS`: asks for ApiVersions every few milliseconds over a connection of its own and prints, on SIGTERM,
 * the longest and the median answer time in milliseconds. A process of its own, so that only the server's stalls show.
 */
import { apiVersions } from '../support/wire-calls.ts'
import { Wire } from '../support/wire.ts'

const times: number[] = []
let running = true
process.on('SIGTERM', () => {
  running = false
})
const wire = await Wire.connect(process.argv[2] ?? '')
while (running) {
  const start = performance.now()
  await apiVersions(wire)
  times.push(performance.now() - start)
  await new Promise((resolve) => setTimeout(resolve, 5))
}
times.sort((a, b) => a - b)
process.stdout.write(`${JSON.stringify({ longest: times.at(-1), median: times[times.length >> 1] })}\n`, () =>
  process.exit(),
)
