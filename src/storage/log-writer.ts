import { bug } from '../base/assert.ts'
import { DiskError, isOutOfDescriptors, isOutOfSpace } from '../env/disk.ts'
import { flushDerived } from './derived-files.ts'
import type { LogState } from './log-state.ts'
import type { FileLease } from './open-files.ts'
import type { Segment } from './segment.ts'
import type { ReserveUse } from './space-guard.ts'
import type { TailEntry } from './tail.ts'

/** Bounds of one gathered write. */
const WRITE_BYTES_MAX = 8 * 1024 ** 2
const WRITE_BUFFERS_MAX = 512
/** Waiting index entries above which they are written without waiting for the next checkpoint. */
const PENDING_ENTRIES_MAX = 1024

const NO_SEGMENTS: Segment[] = []

interface FlushWaiter {
  readonly offset: number
  resolve(): void
  reject(error: Error): void
}

/**
 * Carries the tail to the file and the file to the platter. One write and one sync are outstanding at most; what
 * arrives meanwhile goes into the next (group commit). In the fsync mode the file writes through, so that one step does
 * for both, but for the first bytes of a file: its name needs a sync of its own. A segment is synced before its successor
 * gets the first byte, so that a torn tail can only be in the last one. The first error of a sync is the last thing this
 * log does (S5).
 */
export class LogWriter {
  readonly #state: LogState
  #isWriting = false
  #isSyncing = false
  /** Segments with bytes in the file that are not synced: one, or two after a roll. */
  #unsynced: Segment[] = NO_SEGMENTS
  /** Its file stays open, though all that was written before may be synced meanwhile. */
  #writingTo: Segment | null = null
  /** Set while a truncation rearranges the log: the loops stop after their present step. */
  #isPaused = false
  #isWaitingForSpace = false
  /** A directory could not be opened to be synced. */
  #isWaitingForDescriptors = false
  /** The log is being closed: nobody waits for room any more. */
  #isClosing = false
  /** A write that failed may have left part of its bytes: the file is cut back before the next one. */
  #mustRollBack = false
  /** In relaxed mode the sync loop runs only when asked, up to here. */
  #syncWanted = 0
  #waiters: FlushWaiter[] | null = null
  #idle: (() => void)[] | null = null

  constructor(state: LogState) {
    this.#state = state
  }

  get unwrittenBytes(): number {
    return this.#state.tail.unwrittenBytes
  }

  get reserveUse(): ReserveUse {
    return this.#state.config.reserveUse
  }

  /** Something was appended. The write starts after the present event, so that what comes with it goes along. */
  kick(): void {
    if (this.#isWriting || this.#isPaused || this.#isWaitingForSpace || this.#state.failure !== null) return
    this.#isWriting = true
    void this.#writeLoop()
  }

  /** Called by the space guard. */
  resume(): void {
    this.#isWaitingForSpace = false
    this.#isWaitingForDescriptors = false
    this.kick()
    this.#kickSync()
  }

  async #writeLoop(): Promise<void> {
    await Promise.resolve()
    while (this.#mayRun && !this.#isWaitingForSpace && this.#state.tail.hasUnwritten) await this.#writeStep()
    this.#isWriting = false
    this.#checkIdle()
  }

  get #mayRun(): boolean {
    return !this.#isPaused && this.#state.failure === null
  }

  async #writeStep(): Promise<void> {
    const state = this.#state
    const entries = state.tail.gather(WRITE_BYTES_MAX, WRITE_BUFFERS_MAX)
    const { segment, position } = entries[0] as TailEntry
    let isDurable = false
    this.#writingTo = segment
    try {
      await this.#prepare(segment)
      if (!this.#mayRun) return
      if (segment.writtenBytes !== position) bug(`write at ${position} of a segment with ${segment.writtenBytes} bytes`)
      const { file } = segment.lease as FileLease
      if (this.#mustRollBack) await file.truncate(position)
      this.#mustRollBack = false
      // Such a write makes its own bytes durable only, so there must be none before it that are not.
      isDurable = file.writesThrough && segment.syncedBytes === segment.writtenBytes
      await file.write(buffersOf(entries), position)
    } catch (error) {
      await this.#writeFailed(segment, error)
      return
    } finally {
      this.#writingTo = null
    }
    for (const entry of entries) segment.writtenBytes += entry.buffer.length
    state.tail.written(entries)
    if (!state.keepsTail) state.context.tails.trim(state.tail, 0)
    state.writtenOffset = (entries.at(-1) as TailEntry).endOffset
    if (isDurable) segment.syncedBytes = segment.writtenBytes
    if (isDurable && this.#isAllElseDurable) {
      this.#releaseFile(segment)
      this.#becameDurable(state.writtenOffset)
      if (segment.pendingOffsets.length > PENDING_ENTRIES_MAX) await flushDerived(state)
      return
    }
    if (!this.#unsynced.includes(segment)) this.#unsynced = [...this.#unsynced, segment]
    this.#state.parts?.progressed()
    this.#kickSync()
    // The next checkpoint asks for a sync.
    if (state.config.durabilityMode === 'relaxed') state.context.changed(state)
    if (segment.pendingOffsets.length > PENDING_ENTRIES_MAX) await flushDerived(state)
  }

  /** Nothing but the write itself was missing: no sync is wanted or under way, of a file or of names. */
  get #isAllElseDurable(): boolean {
    const { isDirectoryDirty, isIdentityDurable } = this.#state
    return this.#unsynced.length === 0 && !this.#isSyncing && !isDirectoryDirty && isIdentityDurable
  }

  #becameDurable(offset: number): void {
    const state = this.#state
    if (state.failure !== null) return
    state.durableOffset = Math.max(state.durableOffset, offset)
    state.context.changed(state)
    this.#resolveWaiters()
    state.parts?.progressed()
  }

  /** The segment's file is open, and its predecessor is durable. */
  async #prepare(segment: Segment): Promise<void> {
    const state = this.#state
    if (segment.lease !== null) return
    // Its bytes and its name: a write through makes the bytes durable long before the name is.
    if (segment.writtenBytes === 0 && state.durableOffset < state.writtenOffset) {
      this.#syncWanted = Math.max(this.#syncWanted, state.writtenOffset)
      await this.#untilSynced(state.writtenOffset)
      if (!this.#mayRun) return
    }
    const use = state.config.durabilityMode === 'fsync' ? 'durable' : 'create'
    const lease = await state.context.files.acquire(state.path(segment, 'log'), use)
    if (segment.writtenBytes === 0) {
      state.isDirectoryDirty = true
      // A file of this name may be left from before a crash.
      await lease.file.truncate(0).catch((error) => {
        lease.release()
        throw error
      })
    }
    segment.lease = lease
    // In relaxed mode files stay open until the next checkpoint; too many of them must not.
    if (state.context.files.isOverBound) this.#syncWanted = Math.max(this.#syncWanted, state.endOffset)
  }

  #untilSynced(offset: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters ??= []
      this.#waiters.push({ offset, resolve, reject })
      this.#kickSync()
    })
  }

  async #writeFailed(segment: Segment, error: unknown): Promise<void> {
    if (this.#state.failure !== null) return
    if (!(error instanceof DiskError)) throw error
    this.#mustRollBack = true
    if (!isOutOfSpace(error)) {
      this.#state.fail(error)
      return
    }
    this.#isWaitingForSpace = true
    // Best effort now, so that nothing partial lies in the file meanwhile; repeated before the next write.
    await segment.lease?.file.truncate(segment.writtenBytes).catch(() => {})
    if (this.#state.failure !== null) return
    if (this.#isClosing) this.failed(error)
    else this.#state.context.space.wait(this, error)
  }

  /** The log has failed: whoever waits is told. */
  failed(error: Error): void {
    for (const { reject } of this.#waiters?.splice(0) ?? []) reject(error)
  }

  #kickSync(): void {
    if (this.#isSyncing || !this.#mayRun || !this.#wantsSync) return
    this.#isSyncing = true
    void this.#syncLoop()
  }

  get #wantsSync(): boolean {
    const { durableOffset, writtenOffset, config } = this.#state
    if (durableOffset === writtenOffset || this.#isWaitingForDescriptors) return false
    return config.durabilityMode === 'fsync' || durableOffset < this.#syncWanted
  }

  async #syncLoop(): Promise<void> {
    while (this.#mayRun && this.#wantsSync) await this.#syncStep()
    this.#isSyncing = false
    this.#checkIdle()
  }

  async #syncStep(): Promise<void> {
    const state = this.#state
    const target = state.writtenOffset
    try {
      for (const segment of this.#unsynced) await this.#syncSegment(segment)
      await state.settleIdentity()
      if (state.isDirectoryDirty) {
        state.isDirectoryDirty = false
        await state.context.env.disk.syncDirectory(state.directory)
      }
    } catch (error) {
      if (!(error instanceof DiskError)) throw error
      if (isOutOfDescriptors(error)) {
        state.isDirectoryDirty = true
        this.#waitForDescriptors(error)
        return
      }
      state.fail(error)
      return
    }
    this.#becameDurable(target)
  }

  /** No sync has failed: none was begun. */
  #waitForDescriptors(error: DiskError): void {
    this.#isWaitingForDescriptors = true
    if (this.#isClosing) this.failed(error)
    else this.#state.context.space.wait(this, error)
  }

  async #syncSegment(segment: Segment): Promise<void> {
    const bytes = segment.writtenBytes
    if (segment.lease === null) bug(`segment ${segment.baseOffset} has unsynced bytes and no file`)
    // Written through, it is here for its name only.
    if (segment.syncedBytes < bytes) await segment.lease.file.sync()
    segment.syncedBytes = Math.max(segment.syncedBytes, bytes)
    if (segment.writtenBytes !== bytes || this.#writingTo === segment) return
    this.#forgetUnsynced(segment)
    this.#releaseFile(segment)
  }

  #forgetUnsynced(segment: Segment): void {
    const rest = this.#unsynced.filter((each) => each !== segment)
    this.#unsynced = rest.length === 0 ? NO_SEGMENTS : rest
  }

  #releaseFile(segment: Segment): void {
    segment.lease?.release()
    segment.lease = null
  }

  #resolveWaiters(): void {
    if (this.#waiters === null) return
    const { durableOffset } = this.#state
    const [done, waiting] = [[] as FlushWaiter[], [] as FlushWaiter[]]
    for (const waiter of this.#waiters) (waiter.offset <= durableOffset ? done : waiting).push(waiter)
    this.#waiters = waiting.length === 0 ? null : waiting
    for (const { resolve } of done) resolve()
  }

  /** Resolves when everything appended by now is durable; rejects when the log fails before. */
  flush(): Promise<void> {
    const { failure, durableOffset, endOffset } = this.#state
    if (failure !== null) return Promise.reject(failure)
    if (durableOffset === endOffset) return Promise.resolve()
    this.#syncWanted = Math.max(this.#syncWanted, endOffset)
    this.kick()
    return this.#untilSynced(endOffset)
  }

  /** As `flush`, for the last time: rejects when there is no room. */
  async flushToClose(): Promise<void> {
    this.#isClosing = true
    if (this.#isWaitingForSpace || this.#isWaitingForDescriptors)
      throw new Error(this.#state.context.space.reasonFor(this.reserveUse) ?? 'no room')
    await this.flush()
  }

  /** In relaxed mode: lets the sync loop run up to what is written now. */
  syncSoon(): void {
    this.#syncWanted = Math.max(this.#syncWanted, this.#state.writtenOffset)
    this.#kickSync()
  }

  /** Stops both loops after their present step and waits for that. */
  async pause(): Promise<void> {
    this.#isPaused = true
    while (this.#isWriting || this.#isSyncing) {
      await new Promise<void>((resolve) => {
        this.#idle ??= []
        this.#idle.push(resolve)
      })
    }
  }

  /** After `pause`. */
  unpause(): void {
    this.#isPaused = false
    this.#resolveWaiters()
    this.kick()
    this.#kickSync()
  }

  #checkIdle(): void {
    if (this.#isWriting || this.#isSyncing) return
    for (const resolve of this.#idle?.splice(0) ?? []) resolve()
    this.#idle = null
  }

  /** While paused: these files are about to be cut, synced or removed by the caller. */
  releaseFiles(segments: readonly Segment[]): void {
    for (const segment of segments) {
      this.#releaseFile(segment)
      this.#forgetUnsynced(segment)
    }
  }

  /** Nothing is written or synced any more; those who wait are told. */
  async close(): Promise<void> {
    await this.pause()
    this.#state.context.space.forget(this)
    const error = this.#state.failure ?? new Error('the log was closed')
    for (const { reject } of this.#waiters?.splice(0) ?? []) reject(error)
    this.releaseFiles(this.#state.segments)
  }
}

function buffersOf(entries: readonly TailEntry[]): Buffer[] {
  return entries.map(({ buffer }) => buffer)
}
