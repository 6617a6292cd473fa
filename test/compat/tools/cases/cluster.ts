import type { Transcript } from '../transcript.ts'

/** The tools that ask about a cluster and its nodes. */
export async function cluster(tools: Transcript): Promise<void> {
  await tools.run('broker-api-versions', { mask: [[/\(id: 1 rack: null.*\)/, '(id: 1)']] })
  await ofFeatures(tools)
  await ofTheQuorum(tools)
  await tools.run('cluster cluster-id --bootstrap-server %')
  const ports = { mask: [[/(127\.0\.0\.1\s+)\d+/, '$1PORT']] } as const
  await tools.run('cluster list-endpoints --bootstrap-server %', ports)
  await tools.run('cluster list-endpoints --bootstrap-server % --include-fenced-brokers', ports)
  await tools.run('cluster unregister --bootstrap-server % --id 99')
  await ofReplicas(tools)
  await tools.run('acls --list')
  await tools.run("acls --add --allow-principal 'User:a' --operation Read --topic t")
  await tools.run('client-metrics --list')
  await tools.run('client-metrics --describe')
}

async function ofFeatures(tools: Transcript): Promise<void> {
  await tools.run('features describe', { mask: [[/(Epoch:) \d+/, '$1 N']] })
  await tools.run('features version-mapping')
  for (const change of ['upgrade', 'downgrade', 'disable']) {
    const versions = change === 'disable' ? 'metadata.version' : 'metadata.version=20'
    await tools.run(`features ${change} --feature ${versions} --dry-run`)
    await tools.run(`features ${change} --feature ${versions.replace('metadata.version', 'no.such')} --dry-run`)
  }
  await tools.run('features upgrade --feature metadata.version=999')
  await tools.run('features downgrade --feature metadata.version=20')
  await tools.run('features upgrade --release-version 4.4 --dry-run')
}

async function ofTheQuorum(tools: Transcript): Promise<void> {
  await tools.run('metadata-quorum describe --status', {
    mask: [[/^(LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs):\s+\d+/, '$1: N'], directories],
  })
  await tools.run('metadata-quorum describe --replication', { mask: [replicationRow] })
  await tools.run('metadata-quorum describe --replication --human-readable', {
    mask: [[/^(\d+\s+)([\w-]{22})\s+\d+\s+0\s+\d+ ms ago\s+\d+ ms ago/, '$1 ID N 0 AGO AGO']],
  })
  await tools.run(
    'metadata-quorum remove-controller --controller-id 5 --controller-directory-id AAAAAAAAAAAAAAAAAAAAJw',
  )
}

const directories = [/"directoryId": ?"[\w-]{22}"/g, '"directoryId": "ID"'] as const
const replicationRow = [/^(\d+\s+)([\w-]{22})\s+\d+\s+0\s+-?\d+\s+-?\d+/, '$1 ID N 0 TIME TIME'] as const

async function ofReplicas(tools: Transcript): Promise<void> {
  await tools.quietly('topics --create --topic replicas --partitions 2')
  const dirs = {
    mask: [
      [/"logDir":"[^"]*"/g, '"logDir":"DIR"'],
      [/"(size|totalBytes|usableBytes)":\d+/g, '"$1":N'],
    ],
  } as const
  await tools.run('log-dirs --describe --topic-list replicas', dirs)
  await tools.run('log-dirs --describe --topic-list missing', dirs)
  await tools.run('log-dirs --describe --broker-list 1 --topic-list replicas', dirs)
  await tools.run('log-dirs --describe --broker-list 9', dirs)
  for (const kind of ['preferred', 'unclean']) {
    await tools.run(`leader-election --election-type ${kind} --topic replicas --partition 0`)
    await tools.run(`leader-election --election-type ${kind} --topic missing --partition 0`)
  }
  await tools.run('leader-election --election-type preferred --topic replicas --partition 7')
  await reassignment(tools)
}

async function reassignment(tools: Transcript): Promise<void> {
  await tools.run('reassign-partitions --list')
  const move = (replicas: string) =>
    `{"version":1,"partitions":[{"topic":"replicas","partition":0,"replicas":[${replicas}],"log_dirs":["any"]}]}`
  const topicsToMove = tools.file('topics.json', '{"version":1,"topics":[{"topic":"replicas"}]}')
  await tools.run(`reassign-partitions --generate --topics-to-move-json-file ${topicsToMove} --broker-list 1`)
  const same = tools.file('same.json', move('1'))
  await tools.run(`reassign-partitions --execute --reassignment-json-file ${same}`)
  await tools.run(`reassign-partitions --verify --reassignment-json-file ${same}`)
  const unknown = tools.file('unknown.json', move('9'))
  await tools.run(`reassign-partitions --execute --reassignment-json-file ${unknown}`)
  await tools.run(`reassign-partitions --cancel --reassignment-json-file ${same}`)
}
