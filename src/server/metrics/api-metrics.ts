import { LatencyHistogram } from './histogram.ts'

/** Plain numbers about one API; read by the scrape. */
export class ApiMetrics {
  requests = 0
  requestBytes = 0
  responseBytes = 0
  /** From the complete request to its answer, long polls and fsync included. */
  readonly latency = new LatencyHistogram()
}
