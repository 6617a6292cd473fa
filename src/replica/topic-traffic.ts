/** What clients do with the partitions of one topic on this node. Plain numbers that only grow, read by the scrape. */
export class TopicTraffic {
  recordsIn = 0
  bytesIn = 0
  bytesOut = 0
  /** Partitions of requests, as Kafka counts them; of Fetch those that were answered with records or an error. */
  produceRequests = 0
  fetchRequests = 0
  failedProduces = 0
  failedFetches = 0
}
