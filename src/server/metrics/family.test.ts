import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderMetrics } from './family.ts'
import { LatencyHistogram } from './histogram.ts'

test('a scrape has help, type and one line for each set of labels, escaped', () => {
  const text = renderMetrics([
    { name: 'up', help: 'Says\nyes', type: 'gauge', samples: [{ value: 1 }] },
    {
      name: 'bytes_total',
      help: 'b',
      type: 'counter',
      samples: [{ labels: { topic: 'a"b\\c\nd', partition: 0 }, value: 2 ** 40 }],
    },
  ])
  assert.equal(
    text,
    '# HELP up Says\\nyes\n# TYPE up gauge\nup 1\n' +
      '# HELP bytes_total b\n# TYPE bytes_total counter\nbytes_total{topic="a\\"b\\\\c\\nd",partition="0"} 1099511627776\n',
  )
})

test('histogram buckets are cumulative and in seconds', () => {
  const histogram = new LatencyHistogram()
  for (const ms of [0.05, 0.1, 3, 40_000]) histogram.observe(ms)
  const text = renderMetrics([
    { name: 'latency_seconds', help: 'l', type: 'histogram', histograms: [{ labels: { api: 'Fetch' }, histogram }] },
  ])
  assert.match(text, /latency_seconds_bucket\{api="Fetch",le="0.0001"\} 2\n/)
  assert.match(text, /latency_seconds_bucket\{api="Fetch",le="0.005"\} 3\n/)
  assert.match(text, /latency_seconds_bucket\{api="Fetch",le="30"\} 3\n/)
  assert.match(text, /latency_seconds_bucket\{api="Fetch",le="\+Inf"\} 4\n/)
  assert.match(text, /latency_seconds_count\{api="Fetch"\} 4\n/)
  assert.match(text, /latency_seconds_sum\{api="Fetch"\} 40.00315/)
})
