import { CommandError, ExitCode } from '../exit-code.ts'
import { print, table } from '../output.ts'
import { parseDuration } from '../records/time-text.ts'
import type { EstimateFlags } from './command.ts'
import { formatQuantity, parseQuantity, QUANTITY_MAX } from './quantities.ts'
import { hostAs, type Measured, measuredOf, readMeasured } from './measured.ts'
import { type Figure, type HostLimits, size, type Workload } from './sizing.ts'

export async function estimate(flags: EstimateFlags): Promise<void> {
  const load = workloadOf(flags)
  const host = hostOf(flags)
  const figures = size(load, host)
  const measured = await measuredRates(flags, load)
  if (measured === null) return print(flags.format, figures, linesOf(figures))
  const again = size(load, hostAs(measured, host))
  const json = { assumed: figures, measured: { notes: measured.notes, figures: again } }
  const notes = measured.notes.map((note) => `  ${note}`)
  const head = ['', 'the same with what this build was measured to do, one node a host:', ...notes]
  await print(flags.format, json, [...linesOf(figures), ...head, ...linesOf(again)])
}

function linesOf(figures: readonly Figure[]): string[] {
  const rows = figures.map(({ name, value, unit, formula }) => [name, formatQuantity(value, unit), `= ${formula}`])
  return table(['what', 'needs', ''], rows)
}

/** Null: the limits that were assumed will do. */
async function measuredRates(
  { measured, measure }: EstimateFlags,
  { recordBytes }: Workload,
): Promise<Measured | null> {
  if (measured !== undefined && measure === true) return refuse('--measured or --measure, not both')
  if (measured !== undefined) return readMeasured(measured)
  if (measure !== true) return null
  const { measureHere } = await import('./measure.ts')
  return measuredOf(await measureHere(Math.min(recordBytes, RECORD_BYTES_MAX)), 'the measurement')
}

/** A larger one does not fit into a batch as it is usually limited. */
const RECORD_BYTES_MAX = 500_000

function workloadOf(flags: EstimateFlags): Workload {
  return {
    peakRecords: quantity('--rate', flags.rate),
    recordBytes: quantity('--size', flags.size),
    retentionSeconds: seconds('--retention', flags.retention),
    copies: whole('--rf', flags.rf, 1, 15),
    groups: whole('--groups', flags.groups, 0, 100_000),
    meanShare: whole('--mean', flags.mean, 1, 100) / 100,
    compression: quantity('--compression', flags.compression),
    tieredAfterSeconds: flags.tierAfter === undefined ? null : seconds('--tier-after', flags.tierAfter),
  }
}

function hostOf({ disk, writeRate, partitionRate }: EstimateFlags): HostLimits {
  return {
    diskBytes: quantity('--disk', disk),
    writeBytes: quantity('--write-rate', writeRate),
    partitionBytes: quantity('--partition-rate', partitionRate),
  }
}

function quantity(flag: string, text: string): number {
  return (
    parseQuantity(text) ??
    refuse(
      `${flag} ${text}: a number above 0 and up to ${formatQuantity(QUANTITY_MAX, '')} is wanted, as in 2M, 1KB or 150MB/s`,
    )
  )
}

function seconds(flag: string, text: string): number {
  const ms = parseDuration(text)
  return ms === null || ms === 0 ? refuse(`${flag} ${text}: a time is wanted, as in 7d or 36h`) : ms / 1000
}

function whole(flag: string, text: string, min: number, max: number): number {
  const value = Number(text)
  const isGood = text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max
  return isGood ? value : refuse(`${flag} ${text}: a whole number from ${min} to ${max} is wanted`)
}

function refuse(message: string): never {
  throw new CommandError(ExitCode.usage, message)
}
