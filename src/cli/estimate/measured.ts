import type { BenchResult } from '../bench/result.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { readText } from '../read-file.ts'
import { formatQuantity } from './quantities.ts'
import type { HostLimits } from './sizing.ts'

/** What this build was measured to do on this machine. Bytes a second. */
export interface Measured {
  readonly writeBytes: number
  readonly partitionBytes: number
  /** Null: reading was not measured. */
  readonly readBytes: number | null
  /** How the rates came about, for people. */
  readonly notes: readonly string[]
}

/** The host as it was measured: what one node takes is what a host takes with a node on it. */
export function hostAs(measured: Measured, host: HostLimits): HostLimits {
  const { writeBytes, partitionBytes, readBytes } = measured
  return { diskBytes: host.diskBytes, writeBytes, partitionBytes, ...(readBytes === null ? {} : { readBytes }) }
}

/** From what `bench --format json` printed: one document, or several behind each other or in an array. Throws `CommandError`. */
export function readMeasured(file: string): Measured {
  let text: string
  try {
    text = readText(file)
  } catch (error) {
    throw new CommandError(ExitCode.usage, `--measured ${file}: ${(error as Error).message}`)
  }
  return measuredOf(parseDocuments(text, file), file)
}

function parseDocuments(text: string, file: string): BenchResult[] {
  const wrong = new CommandError(ExitCode.usage, `--measured ${file} is not what millrace bench --format json prints`)
  let documents: unknown[]
  try {
    // What was appended to one file: each document ends where the next begins.
    const joined = text.trim().replaceAll(/\}\s*\n\s*\{/g, '},{')
    documents = (joined.startsWith('[') ? JSON.parse(joined) : JSON.parse(`[${joined}]`)) as unknown[]
  } catch {
    throw wrong
  }
  if (!documents.every(isResult)) throw wrong
  return documents
}

function isResult(document: unknown): document is BenchResult {
  const { bench, bytesPerSecond, seconds, settings } = (document ?? {}) as Partial<BenchResult>
  const { partitions, valueBytes } = settings ?? {}
  const numbers = [bytesPerSecond, seconds, partitions, valueBytes]
  return typeof bench === 'string' && numbers.every((each) => typeof each === 'number')
}

export function measuredOf(results: readonly BenchResult[], where: string): Measured {
  const fastest = (kind: BenchResult['bench']) =>
    results
      .filter((each) => each.bench === kind && each.bytesPerSecond > 0)
      .toSorted((left, right) => right.bytesPerSecond - left.bytesPerSecond)[0]
  const produce = fastest('produce')
  if (produce === undefined)
    throw new CommandError(
      ExitCode.usage,
      `${where} has no result of millrace bench produce, which the estimate is made from`,
    )
  const consume = fastest('consume')
  // One partition alone may do better than its share of several, and says so when it was measured.
  const alone = results.filter(({ bench, settings }) => bench === 'produce' && settings.partitions === 1)
  const single = alone.toSorted((left, right) => right.bytesPerSecond - left.bytesPerSecond)[0]
  const partitionBytes = single?.bytesPerSecond ?? produce.bytesPerSecond / Math.max(1, produce.settings.partitions)
  return {
    writeBytes: produce.bytesPerSecond,
    partitionBytes,
    readBytes: consume?.bytesPerSecond ?? null,
    notes: [noteOf(produce), ...(consume === undefined ? [] : [noteOf(consume)])],
  }
}

function noteOf({ bench, settings, bytesPerSecond, seconds }: BenchResult): string {
  const { valueBytes, partitions, compression, acks } = settings
  const details = `${formatQuantity(valueBytes, 'B')} records, ${partitions} partitions, ${compression}, acks=${acks}`
  return `bench ${bench}: ${formatQuantity(bytesPerSecond, 'B/s')} over ${seconds.toFixed(1)} s (${details})`
}
