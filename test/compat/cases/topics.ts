/** Topics: made, described, grown, deleted; and everything that is refused. */
import assert from 'node:assert/strict'
import { until } from '../../support/process.ts'
import { metadata } from '../../support/wire-calls.ts'
import type { Case } from '../case.ts'
import type { Context } from '../context.ts'
import type { NewTopic } from '../protocol.ts'
import { errorOf } from './values.ts'
import { tell } from './tell.ts'

type Wanted = Partial<NewTopic>

function createCase(
  name: string,
  title: string,
  topic: (context: Context) => Wanted | Promise<Wanted>,
  validateOnly = false,
): Case {
  return {
    name: `create-${name}`,
    title,
    needs: validateOnly ? ['createTopics', 'validateOnly'] : ['createTopics'],
    async run(context) {
      const usual = { name: context.name('t'), partitions: 2, replicationFactor: 1, configs: {} }
      const wanted = { ...usual, ...(await topic(context)) }
      const adapter = await context.adapter()
      const answer = await tell(() => adapter.ask('createTopics', { topics: [wanted], validateOnly }))
      const topics = 'topics' in answer ? answer.topics.map(({ error }) => errorOf(error)) : answer
      const isMade = !validateOnly && Array.isArray(topics) && topics.every((error) => error === null)
      const expected = isMade ? Math.abs(wanted.partitions) : null
      return { topics, partitions: await partitionsOf(context, wanted.name, expected) }
    },
  }
}

/**
 * How many partitions the topic has, asked without the client; 0 when there is none. A Kafka's broker hears a moment later than
 * its controller: when it should have come to `expected`, that is waited for.
 */
function partitionsOf(context: Context, topic: string, expected: number | null): Promise<number> {
  const patience = performance.now() + 9000
  return context.wire((wire) =>
    until(
      topic,
      async () => {
        const partitions = (await metadata(wire, [topic])).topics[0]?.partitions.length ?? 0
        return expected === null || partitions === expected || performance.now() > patience ? partitions : null
      },
      { timeoutMs: 10_000, everyMs: 20 },
    ),
  )
}

const deleteTopics: Case = {
  name: 'delete-topic',
  title: 'a topic is deleted',
  needs: ['deleteTopics'],
  async run(context) {
    const topic = await context.topic('t')
    const { topics } = await (await context.adapter()).ask('deleteTopics', { topics: [topic] })
    assert.equal(await partitionsOf(context, topic, 0), 0)
    return topics.map(({ error }) => errorOf(error))
  },
}

const deleteUnknown: Case = {
  name: 'delete-unknown-topic',
  title: 'deleting a topic that does not exist',
  needs: ['deleteTopics'],
  async run(context) {
    const adapter = await context.adapter()
    const answer = await tell(() => adapter.ask('deleteTopics', { topics: [context.name('missing')] }))
    return 'topics' in answer ? answer.topics.map(({ error }) => errorOf(error)) : answer
  },
}

const describe: Case = {
  name: 'describe-topic',
  title: 'partitions, leaders and replicas of a topic',
  needs: ['describeTopic'],
  async run(context) {
    const topic = await context.topic('t', 3)
    return (await context.adapter()).ask('describeTopic', { topic })
  },
}

const describeUnknown: Case = {
  name: 'describe-unknown-topic',
  title: 'describing a topic that does not exist',
  needs: ['describeTopic'],
  async run(context) {
    const adapter = await context.adapter()
    return tell(() => adapter.ask('describeTopic', { topic: context.name('missing') }))
  },
}

function growCase(name: string, title: string, total: number, exists = true): Case {
  return {
    name,
    title,
    needs: ['createPartitions'],
    async run(context) {
      const topic = exists ? await context.topic('t', 2) : context.name('missing')
      const adapter = await context.adapter()
      const answer = await tell(() => adapter.ask('createPartitions', { topic, total }))
      return { answer, partitions: await partitionsOf(context, topic, 'refused' in answer ? null : total) }
    },
  }
}

export const topicCases: readonly Case[] = [
  createCase('topic', 'a topic is made', () => ({})),
  createCase('topic-defaults', "a topic with the server's number of partitions and copies", () => ({
    partitions: -1,
    replicationFactor: -1,
  })),
  createCase('topic-configs', 'a topic with configs', () => ({
    configs: { 'cleanup.policy': 'compact', 'retention.ms': '3600000' },
  })),
  createCase('existing-topic', 'making a topic that exists', async (context) => ({ name: await context.topic('t') })),
  createCase('bad-name', 'a topic whose name is not allowed', () => ({ name: 'not allowed!' })),
  createCase('long-name', 'a topic whose name has 250 characters', () => ({ name: 'x'.repeat(250) })),
  createCase('no-partitions', 'a topic of no partitions', () => ({ partitions: 0 })),
  createCase('too-many-copies', 'three copies on one node', () => ({ replicationFactor: 3 })),
  createCase('bad-config', 'a config with a value that is none', () => ({ configs: { 'retention.ms': 'soon' } })),
  createCase('unknown-config', 'a config that does not exist', () => ({ configs: { 'no.such.config': '1' } })),
  createCase('validate-only', 'a topic that is only to be checked', () => ({}), true),
  createCase('validate-only-bad', 'a bad topic that is only to be checked', () => ({ replicationFactor: 3 }), true),
  deleteTopics,
  deleteUnknown,
  describe,
  describeUnknown,
  growCase('create-partitions', 'a topic gets more partitions', 5),
  growCase('create-partitions-fewer', 'a topic cannot have fewer partitions', 1),
  growCase('create-partitions-unknown', 'more partitions for a topic that does not exist', 5, false),
]
