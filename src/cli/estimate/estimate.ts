import { CommandError, ExitCode } from '../exit-code.ts'
import { print, table } from '../output.ts'
import { parseDuration } from '../records/time-text.ts'
import type { EstimateFlags } from './command.ts'
import { formatQuantity, parseQuantity, QUANTITY_MAX } from './quantities.ts'
import { type HostLimits, size, type Workload } from './sizing.ts'

export async function estimate(flags: EstimateFlags): Promise<void> {
  const figures = size(workloadOf(flags), hostOf(flags))
  const rows = figures.map(({ name, value, unit, formula }) => [name, formatQuantity(value, unit), `= ${formula}`])
  await print(flags.format, figures, table(['what', 'needs', ''], rows))
}

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
