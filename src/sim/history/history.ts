/**
 * What the clients of a run saw, in the order they saw it. A moment is a number that grows with everything recorded: the
 * real-time order of invocations and completions, with no two equal.
 */
export type Moment = number

/** `topic-partition`. */
export type PartitionName = string

/** One record handed to a producer. */
export interface Send {
  /** Unique in the run; it is in the record's value, so a reader knows what it reads. */
  readonly id: string
  readonly producer: string
  readonly partition: PartitionName
  /** Of key, value, headers and timestamp as sent. */
  readonly digest: number
  readonly timestampMs: number
  /** `leader`: acknowledged when the leader alone has it. That promises nothing once another one leads. */
  readonly acks: 'all' | 'leader'
  readonly invoked: Moment
  completed: Moment | null
  /**
   * `refused`: an answer that promises the record was not taken. `unknown`: a timeout, a lost connection, or an answer
   * after which it may still be there. `pending`: no answer yet.
   */
  outcome: 'pending' | 'acked' | 'refused' | 'unknown'
  /** Told by the ack. */
  offset: number | null
  /** It was sent more than once, so the leader that acknowledged it need not be the one that appended it. */
  isRetried: boolean
}

export interface ReadRecord {
  readonly offset: number
  /** Of the leader that appended it. */
  readonly epoch: number
  readonly id: string
  readonly digest: number
}

/** One poll of one partition: all that is visible in [from, to). */
export interface Read {
  readonly consumer: string
  /** Null: assigned by hand, outside any group. */
  readonly group: string | null
  readonly partition: PartitionName
  readonly from: number
  readonly to: number
  readonly records: readonly ReadRecord[]
  /** Neither a seek nor a rebalance lies between this poll and the consumer's last one of this partition. */
  readonly continues: boolean
  readonly moment: Moment
}

export interface Commit {
  readonly group: string
  readonly member: string
  readonly generation: number
  readonly partition: PartitionName
  readonly offset: number
  readonly invoked: Moment
  completed: Moment | null
  outcome: 'pending' | 'acked' | 'refused' | 'unknown'
}

/** A member learnt what it owns in a generation. */
export interface Assignment {
  readonly group: string
  readonly member: string
  readonly generation: number
  readonly partitions: readonly PartitionName[]
  readonly moment: Moment
}

/** An OffsetFetch that was answered without an error. `offset` null: the broker said there is none. */
export interface OffsetAnswer {
  readonly group: string
  readonly partition: PartitionName
  readonly offset: number | null
  readonly invoked: Moment
  readonly completed: Moment
}

/**
 * The first and the end offset of a partition, as its leader told them. A Fetch tells the high watermark that the leader
 * knows, which may be behind until it has heard of its followers; ListOffsets waits for that (KIP-207).
 */
export interface Bounds {
  readonly source: 'list' | 'fetch'
  readonly partition: PartitionName
  readonly start: number | null
  readonly end: number | null
  /** In which the leader that answered led; null: it was not asked. One of an old epoch may not have heard of the next. */
  readonly epoch: number | null
  readonly wallMs: number
  readonly invoked: Moment
  readonly completed: Moment
}

/** A look-up by time that was answered without an error. `offset` null: the broker said there is none. */
export interface TimeAnswer {
  readonly partition: PartitionName
  readonly timestampMs: number
  readonly offset: number | null
  /** As in `Bounds`. */
  readonly epoch: number | null
  readonly invoked: Moment
}

/** Who leads a partition, as any node told it. */
export interface LeaderAnswer {
  readonly partition: PartitionName
  readonly leader: number
  readonly epoch: number
}

/** DeleteRecords was asked for. */
export interface Deletion {
  readonly partition: PartitionName
  readonly before: number
  readonly invoked: Moment
}

/** The whole partition, read after everything was healed and had settled. */
export interface FinalRead {
  readonly partition: PartitionName
  readonly start: number
  readonly end: number
  readonly records: readonly ReadRecord[]
}

/** A power cut, for modes that may lose what was acknowledged shortly before. */
export interface PowerCut {
  readonly moment: Moment
  /** Sends acknowledged at or after this moment may be gone. */
  readonly mayLoseFrom: Moment
}

/** What the topic's configuration lets the broker do. */
export interface Policy {
  /** Null: kept for ever. */
  readonly retentionMs: number | null
}

/** Recorded by the workloads while a run goes on, judged by the checkers when it is over. */
export class History {
  readonly sends: Send[] = []
  readonly reads: Read[] = []
  readonly commits: Commit[] = []
  readonly assignments: Assignment[] = []
  readonly offsetAnswers: OffsetAnswer[] = []
  readonly bounds: Bounds[] = []
  readonly timeAnswers: TimeAnswer[] = []
  readonly leaderAnswers: LeaderAnswer[] = []
  readonly deletions: Deletion[] = []
  readonly finalReads: FinalRead[] = []
  readonly powerCuts: PowerCut[] = []
  readonly policies = new Map<PartitionName, Policy>()
  readonly #leadersTold = new Set<string>()
  #moment = 0

  /** Now; the next one is later. */
  moment(): Moment {
    return ++this.#moment
  }

  /** `acks` is `all` when it is left out. */
  send(send: Pick<Send, 'id' | 'producer' | 'partition' | 'digest' | 'timestampMs'> & Partial<Send>): Send {
    const begun = {
      invoked: this.moment(),
      completed: null,
      outcome: 'pending',
      offset: null,
      isRetried: false,
    } as const
    const recorded: Send = { acks: 'all', ...send, ...begun }
    this.sends.push(recorded)
    return recorded
  }

  acked(send: Send, offset: number, { isRetried = false } = {}): void {
    this.#complete(send, 'acked')
    send.offset = offset
    send.isRetried = isRetried
  }

  notAcked(send: Send, outcome: 'refused' | 'unknown'): void {
    this.#complete(send, outcome)
  }

  read(read: Omit<Read, 'moment'>): void {
    this.reads.push({ ...read, moment: this.moment() })
  }

  /** The same answer is recorded once. */
  leader(answer: LeaderAnswer): void {
    const told = `${answer.partition} ${answer.leader} ${answer.epoch}`
    if (this.#leadersTold.has(told)) return
    this.#leadersTold.add(told)
    this.leaderAnswers.push(answer)
  }

  assigned(assignment: Omit<Assignment, 'moment'>): void {
    this.assignments.push({ ...assignment, moment: this.moment() })
  }

  commit(commit: Pick<Commit, 'group' | 'member' | 'generation' | 'partition' | 'offset'>): Commit {
    const recorded: Commit = { ...commit, invoked: this.moment(), completed: null, outcome: 'pending' }
    this.commits.push(recorded)
    return recorded
  }

  committed(commit: Commit, outcome: 'acked' | 'refused' | 'unknown'): void {
    this.#complete(commit, outcome)
  }

  /** A power cut now; in a mode that acknowledges before the disk has it, sends acked since `mayLoseFrom` may be gone. */
  powerCut(mayLoseFrom: Moment | null): void {
    const moment = this.moment()
    this.powerCuts.push({ moment, mayLoseFrom: mayLoseFrom ?? moment })
  }

  #complete<T extends { completed: Moment | null; outcome: string }>(operation: T, outcome: T['outcome']): void {
    operation.completed = this.moment()
    operation.outcome = outcome
  }
}
