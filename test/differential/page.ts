/**
 * `npm run differential -- --page` writes `docs/differences.md` from the table; a test holds it to be current.
 */
import { differences } from './differences.ts'

export const PAGE = 'docs/differences.md'

const HEAD = `# Where answers differ from Apache Kafka's

<!-- Written by \`npm run differential -- --page\` from test/differential/differences.ts. -->

\`npm run differential\` sends the same sequences of requests, made from a seed, to a real Apache Kafka 4.4.0 and to Millrace and
compares the decoded answers field by field: every API that Millrace serves, every version, odd but legal values, wrong states. Any
difference that is not in this table fails the run, and so does an answer that only one of the two gives, or a connection that only one closes.

| what | API | Apache Kafka | Millrace | why |
| --- | --- | --- | --- | --- |
`

const TAIL = `
## What is compared, and how

- Ids that a server gives out (members, topics, producers, fetch sessions, the cluster, directories) and ports need not be equal, but must stand for each other
  wherever they come back. Of the time of appending only whether there is one counts.
- Texts (error messages, documentation of configs) are each server's own: where Kafka has one, Millrace must have one.
- The order of elements in an array that are told apart by a name or number says nothing.
- Of records, every whole batch: offsets, attributes, timestamps, producer, sequence and the bytes of the records. Kafka may send the first part of a further batch, which clients skip.
- Kafka shows of a group only what was there when something was last written to its partition of __consumer_offsets; something is written before it is asked.
- Which member becomes the leader of a group when its leader has gone: with Kafka any, by the hashes of random ids, with Millrace the one that has been there
  longest. Where the two chose differently the sequence ends. So it does where a log has got a batch that the other has refused, as the table tells.
- Sizes of disks, names and ids of directories, and how far the metadata log has got are each server's own.

## What is not sent

- APIs that Millrace does not serve (yet): it does not advertise them, and closes the connection.
- Changes of the cluster itself that the next sequence would meet: features, nodes, the brokers' own configs.
- The same partition twice in one request for data: Kafka keeps one of the two, and it is not always the same one.
- One protocol twice in a JoinGroup, one resource twice in AlterConfigs: Kafka 4.4.0 never answers; Millrace takes the first protocol, and refuses the resource.
- A batch whose magic or codec is none: Kafka refuses every partition of the request for it, Millrace the one.
- NaN for a config that is a number (Kafka takes it, Millrace does not).
- What no client means: an empty name in DescribeTopicPartitions, the zero id in Metadata and Fetch, negative ids of fetch sessions, negative sizes, a replica's id or another isolation level in Fetch, unknown operations in IncrementalAlterConfigs (Kafka answers
  UNKNOWN_SERVER_ERROR for the whole request or not at all).
- Batches that Millrace refuses on purpose where Kafka takes them: a delete horizon set by a client, record offsets with gaps, producers without an epoch.
- A null record set in Produce: Kafka 4.4.0 does not answer it; Millrace answers INVALID_RECORD.
- What only shows after a time: expiry of sessions and rebalances, retention, compaction.
`

export function differencesPage(): string {
  const rows = differences.map(({ api, what, kafka, millrace, why }) => {
    const apis = api === '*' ? 'any' : api
    return `| ${[what, apis, kafka, millrace, why].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  return `${HEAD}${rows.join('\n')}\n${TAIL}`
}
