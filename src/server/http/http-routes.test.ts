import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerHttp, type HttpSource } from './http-routes.ts'

const source: HttpSource = {
  health: () => ({
    live: [{ name: 'event loop', problem: null }],
    ready: [{ name: 'log recovery', problem: '3 of 10 logs are still being recovered' }],
  }),
  metrics: async () => [{ name: 'up', help: 'h', type: 'gauge', samples: [{ value: 1 }] }],
}

function get(path: string, method = 'GET') {
  const url = new URL(`http://x${path}`)
  return answerHttp({ method, path: url.pathname, query: url.searchParams }, source)
}

test('live but not ready: the probes differ and the reason is in words', async () => {
  assert.deepEqual(await get('/livez'), { status: 200, contentType: 'text/plain; charset=utf-8', body: 'ok\n' })
  assert.equal((await get('/readyz')).status, 503)
  assert.match((await get('/readyz')).body, /\[-\] log recovery: 3 of 10 logs are still being recovered/)
})

test('verbose lists what is well too', async () => {
  assert.equal(
    (await get('/healthz?verbose')).body,
    '[+] event loop ok\n[-] log recovery: 3 of 10 logs are still being recovered\n1 of 2 checks failed\n',
  )
})

test('metrics, unknown paths and other methods', async () => {
  assert.match((await get('/metrics')).body, /^up 1$/m)
  assert.equal((await get('/secret')).status, 404)
  assert.equal((await get('/metrics', 'POST')).status, 405)
})
