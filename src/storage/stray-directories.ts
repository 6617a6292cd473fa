import type { Env } from '../env/env.ts'
import { DiskError } from '../env/disk.ts'
import { deletedForm, isStrayDirectory } from './file-names.ts'
import { readFileIfThere, replaceFile } from './files.ts'

export interface StrayLimits {
  /** `log.stray.retention.ms`; -1: for ever. */
  readonly retentionMs: number
  /** `log.stray.retention.bytes`, of all together; -1: any. */
  readonly bytesMax: number
}

/** What is kept of directories that were set aside. */
export interface StrayFigures {
  readonly count: number
  readonly bytes: number
  /** When the oldest goes, wall clock; null: there is none, or never. */
  readonly nextRemovalMs: number | null
}

/** In each of them: since when it has been there, for that is not in its name. */
const SINCE_FILE = 'set-aside-ms'
/**
 * However many bytes they have, and however full the disk is: whoever was started on the wrong cluster's metadata, and had all
 * its partitions set aside as nobody's, has so long to notice.
 */
const KEPT_MS_MIN = 86_400_000

interface Stray {
  readonly path: string
  readonly bytes: number
  readonly sinceMs: number
}

/** Directories of partitions that nobody knows, or whose logs are damaged: kept for a while, so that a human can look, then removed. */
export class StrayDirectories {
  readonly #env: Env
  readonly #folder: string
  readonly #removeTree: (path: string) => void
  readonly #told = new Set<string>()
  /** The oldest first, as of the last look. */
  #kept: Stray[] = []
  /** All names that were there then; of those that cannot be looked at, too. */
  #names: readonly string[] = []
  /** One look after the other. */
  #last: Promise<unknown> = Promise.resolve()

  /** `removeTree`: in the background; what a crash leaves of it is found by its name. */
  constructor(env: Env, folder: string, removeTree: (path: string) => void) {
    this.#env = env
    this.#folder = folder
    this.#removeTree = removeTree
  }

  /** Removes those whose time has come. `nowMs` is a wall clock's that has not just jumped. */
  look(limits: StrayLimits, now: { readonly nowMs: number; readonly isFull: boolean }): Promise<void> {
    return this.#inTurn(() => this.#look(limits, now))
  }

  /**
   * What is there now. Measured anew only when other directories are there than at the last look. Where the folder cannot be
   * listed, as of that look.
   */
  figures(retentionMs: number, nowMs: number): Promise<StrayFigures> {
    return this.#inTurn(async () => {
      const names = await this.#list().catch(nullIfFailed)
      if (names !== null && names.join('/') !== this.#names.join('/')) await this.#find(names, nowMs)
      const kept = this.#kept
      const [oldest] = kept
      const nextRemovalMs = oldest === undefined || retentionMs < 0 ? null : oldest.sinceMs + retentionMs
      return { count: kept.length, bytes: bytesOf(kept), nextRemovalMs }
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }

  async #look({ retentionMs, bytesMax }: StrayLimits, now: { readonly nowMs: number; readonly isFull: boolean }) {
    const { nowMs, isFull } = now
    const kept = await this.#find(await this.#list(), nowMs)
    let bytes = bytesOf(kept)
    const most = isFull ? 0 : bytesMax
    for (let oldest = kept[0]; oldest !== undefined; oldest = kept[0]) {
      const ageMs = nowMs - oldest.sinceMs
      const isOver = retentionMs >= 0 && ageMs >= retentionMs
      const isTooMuch = most >= 0 && bytes > most && ageMs >= KEPT_MS_MIN
      if (!isOver && !isTooMuch) break
      await this.#remove(
        oldest,
        ageMs,
        isOver ? 'log.stray.retention.ms' : isFull ? 'full' : 'log.stray.retention.bytes',
      )
      kept.shift()
      bytes -= oldest.bytes
    }
  }

  async #list(): Promise<string[]> {
    return (await this.#env.disk.list(this.#folder)).filter(isStrayDirectory).sort()
  }

  async #find(names: readonly string[], nowMs: number): Promise<Stray[]> {
    const strays: Stray[] = []
    for (const name of names) {
      const stray = await this.#measure(`${this.#folder}/${name}`, nowMs)
      if (stray !== null) strays.push(stray)
    }
    this.#names = names
    this.#kept = strays.sort((one, other) => one.sinceMs - other.sinceMs)
    return this.#kept
  }

  /** Null where it cannot be looked at: the others go on without it. */
  async #measure(path: string, nowMs: number): Promise<Stray | null> {
    const { disk } = this.#env
    try {
      let bytes = 0
      for (const file of await disk.list(path)) bytes += (await disk.stat(`${path}/${file}`))?.bytes ?? 0
      const sinceMs = await this.#since(path, nowMs)
      this.#tell(path, bytes, sinceMs)
      return { path, bytes, sinceMs }
    } catch (error) {
      if (!(error instanceof DiskError)) throw error
      if (!this.#told.has(path))
        this.#env.log.warn('A directory that was set aside cannot be looked at, and stays', {
          directory: path,
          reason: error.message,
        })
      this.#told.add(path)
      return null
    }
  }

  /** As it was noted down when it was seen first; what makes no sense is noted down anew. */
  async #since(path: string, nowMs: number): Promise<number> {
    const { disk } = this.#env
    const noted = Number((await readFileIfThere(disk, `${path}/${SINCE_FILE}`))?.toString('latin1') || Number.NaN)
    if (Number.isSafeInteger(noted) && noted > 0 && noted <= nowMs) return noted
    await replaceFile(disk, `${path}/${SINCE_FILE}`, [Buffer.from(String(nowMs))]).catch((error: unknown) => {
      // Without room its time begins when there is some.
      if (!(error instanceof DiskError)) throw error
    })
    return nowMs
  }

  #tell(directory: string, bytes: number, sinceMs: number): void {
    if (this.#told.has(directory)) return
    this.#told.add(directory)
    const since = new Date(sinceMs).toISOString()
    this.#env.log.warn('A directory that was set aside is kept for a while', { directory, bytes, since })
  }

  async #remove({ path, bytes }: Stray, ageMs: number, why: string): Promise<void> {
    const gone = deletedForm(path)
    this.#env.log.warn('A directory that was set aside is removed', { directory: path, bytes, ageMs, why })
    this.#told.delete(path)
    await this.#env.disk.rename(path, gone)
    this.#removeTree(gone)
  }
}

function bytesOf(strays: readonly Stray[]): number {
  return strays.reduce((sum, { bytes }) => sum + bytes, 0)
}

function nullIfFailed(error: unknown): null {
  if (error instanceof DiskError) return null
  throw error
}
