import type { Transcript } from '../transcript.ts'

/** kafka-topics. */
export async function topics(tools: Transcript): Promise<void> {
  await creation(tools)
  await looking(tools)
  await changing(tools)
  await deletion(tools)
}

async function creation(tools: Transcript): Promise<void> {
  await tools.run('topics --create --topic plain')
  await tools.run('topics --create --topic wide --partitions 3 --replication-factor 1 --config retention.ms=3600000')
  await tools.run('topics --create --topic wide --partitions 3')
  await tools.run('topics --create --topic wide --partitions 3 --if-not-exists')
  await tools.run('topics --create --topic placed --replica-assignment 1,1')
  await tools.run('topics --create --topic nowhere --replica-assignment 1,7')
  await tools.run('topics --create --topic twice --replica-assignment 1:1')
  await tools.run('topics --create --topic uneven --replica-assignment 1,1:2')
  await tools.run('topics --create --topic none --partitions 0')
  await tools.run('topics --create --topic thrice --replication-factor 3')
  await tools.run('topics --create --topic dotted.name')
  await tools.run('topics --create --topic dotted_name')
  for (const name of ["'a b'", '.', '..', 'ä', 'x'.repeat(249), 'x'.repeat(250)]) {
    await tools.run(`topics --create --topic ${name}`)
  }
  for (const config of ['retention.ms=soon', 'cleanup.policy=shred', 'min.insync.replicas=0', 'no.such.key=1']) {
    await tools.run(`topics --create --topic odd --config ${config}`)
  }
  await tools.run('topics --create --topic compacted --config cleanup.policy=compact --config compression.type=zstd')
}

async function looking(tools: Transcript): Promise<void> {
  await tools.run('topics --list')
  await tools.run("topics --list --topic 'dotted.*'")
  await tools.run('topics --list --exclude-internal')
  await tools.run('topics --describe')
  await tools.run('topics --describe --topic wide')
  await tools.run("topics --describe --topic 'p.*'")
  await tools.run('topics --describe --topic missing')
  await tools.run('topics --describe --topic missing --if-exists')
  await tools.run('topics --describe --topics-with-overrides')
  for (const filter of ['under-replicated', 'unavailable', 'under-min-isr', 'at-min-isr']) {
    await tools.run(`topics --describe --${filter}-partitions`)
  }
  const { stdout } = await tools.quietly('topics --describe --topic plain')
  const id = /TopicId: (\S+)/.exec(stdout)?.[1] ?? 'no id'
  const byId = tools.start(`topics --describe --topic-id ${id}`)
  tools.note('topics --describe --topic-id ID', await byId.outcome)
  await tools.run('topics --describe --topic-id AAAAAAAAAAAAAAAAAAAAJw')
}

async function changing(tools: Transcript): Promise<void> {
  await tools.run('topics --alter --topic wide --partitions 5')
  await tools.run('topics --describe --topic wide')
  for (const count of [5, 4, 0]) await tools.run(`topics --alter --topic wide --partitions ${count}`)
  await tools.run('topics --alter --topic placed --partitions 3 --replica-assignment 1,1,1')
  await tools.run('topics --alter --topic placed --partitions 4 --replica-assignment 1,1,1,9')
  await tools.run('topics --alter --topic placed --partitions 5 --replica-assignment 1,1,1,1')
  await tools.run('topics --alter --topic missing --partitions 2')
  await tools.run('topics --alter --topic missing --partitions 2 --if-exists')
}

async function deletion(tools: Transcript): Promise<void> {
  await tools.run('topics --delete --topic plain')
  await tools.run('topics --delete --topic plain')
  await tools.run('topics --delete --topic plain --if-exists')
  await tools.run("topics --delete --topic 'dotted.*'")
  await tools.run('topics --delete --topic __cluster_metadata')
  await tools.run('topics --list')
}
