import { DESCRIPTORS_MIN } from '../../server/descriptors.ts'
import { formatBytes, formatCount } from '../quantity.ts'
import { type Finding, findings } from './finding.ts'

const DESCRIPTORS_WANTED = 4096
const MEMORY_BYTES_MIN = 128 * 1024 ** 2
/** What one node was seen to use under load. */
const MEMORY_BYTES_WANTED = 512 * 1024 ** 2
const FREE_PART_MIN = 0.02
const FREE_PART_WANTED = 0.1
const SYNC_P50_MS_WANTED = 10
const SYNC_P99_MS_WANTED = 100
const CLOCK_OFFSET_MS_WANTED = 1000
const CLOCK_OFFSET_MS_MAX = 60_000

/** Files and sockets that a node may have open. */
export function checkDescriptors(about: string, limit: number): Finding {
  const { ok, warn, fail } = findings(about)
  const text = `${formatCount(limit)} files and sockets at most`
  const advice = 'raise it with ulimit -n, or LimitNOFILE= of its systemd unit, and start the node again'
  if (limit < DESCRIPTORS_MIN) return fail('descriptors', `${text}: a node needs at least ${DESCRIPTORS_MIN}`, advice)
  if (limit >= DESCRIPTORS_WANTED) return ok('descriptors', text)
  return warn('descriptors', `${text}: connections over that are refused`, `${advice} (${DESCRIPTORS_WANTED} or more)`)
}

export function checkMemory(about: string, limitBytes: number): Finding {
  const { ok, warn, fail } = findings(about)
  const text = `${formatBytes(limitBytes)} of memory at most`
  const advice = `give it ${formatBytes(MEMORY_BYTES_WANTED)} or more (MemoryMax= of its unit, the limit of its container)`
  if (limitBytes < MEMORY_BYTES_MIN) return fail('memory', `${text}: the kernel will kill the node`, advice)
  if (limitBytes >= MEMORY_BYTES_WANTED) return ok('memory', text)
  return warn('memory', `${text}: a node under load uses up to 300 MiB, and the page cache needs room`, advice)
}

export interface DiskSpace {
  readonly totalBytes: number
  readonly freeBytes: number
  /** It takes no records for want of room: its node says so. */
  readonly isFull: boolean
}

export function checkSpace(about: string, { totalBytes, freeBytes, isFull }: DiskSpace): Finding {
  const { ok, warn, fail } = findings(about)
  const part = totalBytes === 0 ? 0 : freeBytes / totalBytes
  const text = `${formatBytes(freeBytes)} of ${formatBytes(totalBytes)} free (${Math.round(part * 100)} %)`
  const advice =
    'shorten retention (topic alter -c retention.ms=…), move copies away (cluster drain), or enlarge the disk'
  if (isFull) return fail('disk', `${text}: it takes no records any more`, advice)
  if (part < FREE_PART_MIN) return fail('disk', `${text}: almost full`, advice)
  return part < FREE_PART_WANTED ? warn('disk', `${text}: little room`, advice) : ok('disk', text)
}

/** How long a small block takes to the disk, measured so many times. */
export interface SyncTimes {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export function checkSync(about: string, { count, p50Ms, p99Ms }: SyncTimes): Finding {
  const { ok, warn } = findings(about)
  const text = `4 KiB are on disk after ${ms(p50Ms)} (p50), ${ms(p99Ms)} (p99) of ${formatCount(count)} writes`
  if (p50Ms <= SYNC_P50_MS_WANTED && p99Ms <= SYNC_P99_MS_WANTED) return ok('fsync', text)
  const advice =
    'an acknowledged record waits that long: use a local SSD, or durability.mode=relaxed where losing the last records in a power cut is acceptable'
  return warn('fsync', text, advice)
}

export interface ClockOffset {
  /** How far the other clock is ahead of ours. */
  readonly offsetMs: number
  /** It is right within this: half of the time that asking took. */
  readonly withinMs: number
}

export function checkClock(about: string, against: string, { offsetMs, withinMs }: ClockOffset): Finding {
  const { ok, warn, fail } = findings(about)
  const direction = offsetMs < 0 ? 'behind' : 'ahead of'
  const sure = Math.max(0, Math.abs(offsetMs) - withinMs)
  if (sure === 0) return ok('clock', `its clock agrees with ${against}, within ${ms(withinMs)}`)
  const text = `its clock is ${ms(Math.abs(offsetMs))} ${direction} ${against} (± ${ms(withinMs)})`
  const advice = 'let chrony or systemd-timesyncd set the clocks: retention and times of records follow them'
  if (sure > CLOCK_OFFSET_MS_MAX) return fail('clock', text, advice)
  return sure > CLOCK_OFFSET_MS_WANTED ? warn('clock', text, advice) : ok('clock', text)
}

export function ms(value: number): string {
  if (value >= 10_000) return `${formatCount(Math.round(value / 1000))} s`
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(2))} ms`
}
