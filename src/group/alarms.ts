import { Heap } from '../base/heap.ts'

/** A deadline that moves. Its owner keeps it and gives it to `Alarms`; only `Alarms` writes the times. */
export interface Alarm {
  readonly kind: 'session' | 'join' | 'sync' | 'expiry'
  readonly groupId: string
  /** Of a session alarm; else empty. */
  readonly memberId: string
  /** Monotonic clock; null while off. */
  deadlineMs: number | null
  /** Where the alarm sits in the queue: at its deadline or before it, null when it is not queued. */
  queuedAtMs: number | null
}

export function newAlarm(kind: Alarm['kind'], groupId: string, memberId = ''): Alarm {
  return { kind, groupId, memberId, deadlineMs: null, queuedAtMs: null }
}

/**
 * Deadlines as data. Putting a deadline off, which every heartbeat does, costs nothing: the queued entry stays where it
 * is and is queued again when its old time comes.
 */
export class Alarms {
  readonly #queue = new Heap<{ readonly alarm: Alarm; readonly atMs: number }>()

  set(alarm: Alarm, deadlineMs: number): void {
    alarm.deadlineMs = deadlineMs
    if (alarm.queuedAtMs !== null && alarm.queuedAtMs <= deadlineMs) return
    this.#enqueue(alarm, deadlineMs)
  }

  cancel(alarm: Alarm): void {
    alarm.deadlineMs = null
  }

  /** The earliest deadline, or null when no alarm is on. */
  nextMs(): number | null {
    for (;;) {
      const head = this.#queue.peek()
      if (head === undefined) return null
      const { alarm, atMs } = head
      // An earlier deadline was set meanwhile, with an entry of its own.
      const isStale = alarm.queuedAtMs !== atMs
      if (!isStale && alarm.deadlineMs === atMs) return atMs
      this.#queue.pop()
      if (isStale) continue
      alarm.queuedAtMs = null
      if (alarm.deadlineMs !== null) this.#enqueue(alarm, alarm.deadlineMs)
    }
  }

  /** Takes one alarm whose deadline has come, switched off; null when there is none. */
  takeDue(nowMs: number): Alarm | null {
    const nextMs = this.nextMs()
    if (nextMs === null || nextMs > nowMs) return null
    const alarm = this.#queue.pop()?.alarm as Alarm
    alarm.queuedAtMs = null
    alarm.deadlineMs = null
    return alarm
  }

  #enqueue(alarm: Alarm, atMs: number): void {
    alarm.queuedAtMs = atMs
    this.#queue.push(atMs, { alarm, atMs })
  }
}
