import { type Family, renderMetrics } from '../metrics/family.ts'
import type { HealthReport } from './health.ts'

export interface HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
}

export interface HttpResponse {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/** What the node shows to operators: from request to response; an adapter serves it. */
export interface HttpSource {
  health(): HealthReport
  metrics(): Promise<Iterable<Family>>
}

const TEXT = 'text/plain; charset=utf-8'

export async function answerHttp(request: HttpRequest, source: HttpSource): Promise<HttpResponse> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return text(405, 'only GET is served here\n')
  switch (request.path) {
    case '/metrics':
      return {
        status: 200,
        contentType: 'text/plain; version=0.0.4; charset=utf-8',
        body: renderMetrics(await source.metrics()),
      }
    case '/livez':
      return healthAnswer(source.health().live, request)
    case '/readyz':
      return healthAnswer(source.health().ready, request)
    case '/healthz': {
      const { live, ready } = source.health()
      return healthAnswer([...live, ...ready], request)
    }
    case '/':
      return text(200, 'Millrace. /metrics /livez /readyz /healthz?verbose\n')
    default:
      return text(404, `nothing at ${request.path}; there are /metrics, /livez, /readyz and /healthz?verbose\n`)
  }
}

/** 200 when all is well, 503 with the reasons in words otherwise; `?verbose` lists every check. */
function healthAnswer(checks: HealthReport['live'], request: HttpRequest): HttpResponse {
  const failed = checks.filter(({ problem }) => problem !== null)
  const shown = request.query.has('verbose') ? checks : failed
  const lines = shown.map(({ name, problem }) => (problem === null ? `[+] ${name} ok` : `[-] ${name}: ${problem}`))
  const verdict = failed.length === 0 ? 'ok' : `${failed.length} of ${checks.length} checks failed`
  return text(failed.length === 0 ? 200 : 503, `${[...lines, verdict].join('\n')}\n`)
}

function text(status: number, body: string): HttpResponse {
  return { status, contentType: TEXT, body }
}
