/** What the runner and an adapter say to each other, one JSON object a line; the README describes each command. */

/** Base64; null is null. */
export type Bytes = string | null

export const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type Codec = (typeof codecs)[number]

/** What a client may lack. Everybody produces and consumes keys and values without compression. */
export const features = [
  'gzip',
  'snappy',
  'lz4',
  'zstd',
  /** A value that is null, as it is written and as it is read. */
  'null-values',
  /** An empty key, value or header, told from one that is null. */
  'empty-bytes',
  'headers',
  /** Header values of any bytes. */
  'binary-headers',
  /** A header without a value, told from one with an empty value. */
  'null-headers',
  /** Several headers of one name, in their order. */
  'repeated-headers',
  /** The record's own timestamp. */
  'timestamps',
  'partitions',
  'acks',
  /** Larger records than the client's own default: the server must refuse them. */
  'large-records',
  'idempotence',
  /** What a refused produce was refused for. */
  'produce-errors',
  'groups',
  /** Commits when it is told to, and says when that is done. */
  'commit',
  'static-membership',
  /** A member learns that another has taken its instance id, and gives way. */
  'static-fencing',
  /** group.protocol=consumer (KIP-848). */
  'consumer-protocol',
  'listOffsets',
  'offsetsForTimes',
  'createTopics',
  'validateOnly',
  'deleteTopics',
  'describeTopic',
  'createPartitions',
  'describeConfigs',
  'alterConfigs',
  'deleteRecords',
  'listGroups',
  'describeGroup',
  'deleteGroups',
  'committed',
  'alterOffsets',
  'deleteOffsets',
] as const
export type Feature = (typeof features)[number]

export interface Declaration {
  readonly client: string
  readonly version: string
  readonly unsupported: Readonly<Partial<Record<Feature, string>>>
}

/** An error of the server or the client. The message is for people, and not compared. */
export interface Failure {
  readonly name: string
  readonly code: number | null
  readonly message: string
}

export interface RecordIn {
  readonly key: Bytes
  readonly value: Bytes
  readonly headers: readonly (readonly [string, Bytes])[]
  readonly timestamp?: number
  readonly partition?: number
}

export interface RecordOut {
  readonly partition: number
  readonly offset: number
  readonly timestamp: number
  readonly timestampType?: 'create' | 'append'
  readonly key: Bytes
  readonly value: Bytes
  readonly headers: readonly (readonly [string, Bytes])[]
}

export interface PartitionOffset {
  readonly partition: number
  readonly offset: number
}

export interface TopicPartitionName {
  readonly topic: string
  readonly partition: number
}

export interface NewTopic {
  readonly name: string
  readonly partitions: number
  readonly replicationFactor: number
  readonly configs: Readonly<Record<string, string>>
}

export interface Config {
  readonly name: string
  readonly value: string | null
  readonly isReadOnly?: boolean
  readonly isSensitive?: boolean
  readonly source?: number
}

export interface Subscription {
  readonly group: string
  readonly topics: readonly string[]
  readonly reset: 'earliest' | 'latest'
  readonly protocol: 'classic' | 'consumer'
  readonly instanceId?: string
  readonly sessionTimeoutMs: number
}

type Kind = 'topic' | 'broker'
type Answers<T> = T & { readonly error: Failure | null }

/** Each command: what is asked, what is answered. */
export interface Commands {
  produce: [
    {
      topic: string
      records: readonly RecordIn[]
      codec: Codec
      acks: 'all' | '1' | '0'
      idempotent: boolean
      maxBytes?: number
    },
    { records: readonly Answers<PartitionOffset>[] },
  ]
  consume: [
    { topic: string; partition: number; offset: number | 'earliest' | 'latest'; count: number; timeoutMs: number },
    { records: readonly RecordOut[] },
  ]
  subscribe: [Subscription, object]
  poll: [{ forMs: number; max: number }, { records: readonly RecordOut[]; assignment: readonly TopicPartitionName[] }]
  commit: [object, object]
  close: [object, object]
  listOffsets: [
    { topic: string; partitions: readonly number[]; at: 'earliest' | 'latest' },
    { offsets: readonly PartitionOffset[] },
  ]
  offsetsForTimes: [
    { topic: string; partition: number; timestamps: readonly number[] },
    { offsets: readonly { timestamp: number; offset: number | null | 'end' }[] },
  ]
  createTopics: [
    { topics: readonly NewTopic[]; validateOnly: boolean },
    { topics: readonly Answers<{ name: string }>[] },
  ]
  deleteTopics: [{ topics: readonly string[] }, { topics: readonly Answers<{ name: string }>[] }]
  describeTopic: [
    { topic: string },
    {
      partitions: readonly { partition: number; leader: number; replicas: readonly number[]; isr: readonly number[] }[]
    },
  ]
  createPartitions: [{ topic: string; total: number }, object]
  describeConfigs: [{ kind: Kind; name: string }, { configs: readonly Config[] }]
  alterConfigs: [{ kind: Kind; name: string; set: Readonly<Record<string, string>>; remove: readonly string[] }, object]
  deleteRecords: [{ topic: string; partition: number; before: number }, { lowWatermark: number }]
  listGroups: [object, { groups: readonly { group: string; state?: string; protocolType?: string; type?: string }[] }]
  describeGroup: [
    { group: string },
    {
      state: string
      protocolType?: string
      protocol?: string
      members: readonly { clientId: string; instanceId?: string | null; partitions: readonly TopicPartitionName[] }[]
    },
  ]
  deleteGroups: [{ groups: readonly string[] }, { groups: readonly Answers<{ group: string }>[] }]
  committed: [
    { group: string; topic: string; partitions: readonly number[] },
    { offsets: readonly (PartitionOffset & { metadata?: string | null })[] },
  ]
  alterOffsets: [{ group: string; topic: string; offsets: readonly PartitionOffset[] }, object]
  deleteOffsets: [{ group: string; topic: string; partitions: readonly number[] }, object]
}
export type Op = keyof Commands
export type Command<O extends Op> = Commands[O][0]
export type Answer<O extends Op> = Commands[O][1]
