import { formatQuantity } from './quantities.ts'

/** What is to be carried, and what a host can do. Bytes and seconds. */
export interface Workload {
  /** Records a second at the busiest hour. */
  readonly peakRecords: number
  readonly recordBytes: number
  readonly retentionSeconds: number
  readonly copies: number
  /** Consumer groups that read everything. */
  readonly groups: number
  /** The mean rate over the retention, as a part of the peak: storage follows the mean, speed the peak. */
  readonly meanShare: number
  /** How many times smaller the producers make their batches. */
  readonly compression: number
  /** Seconds after which records live in the object store alone; null: never. */
  readonly tieredAfterSeconds: number | null
}

export interface HostLimits {
  readonly diskBytes: number
  /** Bytes a second that its disks take for hours. */
  readonly writeBytes: number
  /** Bytes a second that one partition takes. */
  readonly partitionBytes: number
  /** Bytes a second that it hands out to consumers; left out: not a limit that is known. */
  readonly readBytes?: number
}

/** The limits that the design counts with. */
export const USUAL_HOST: HostLimits = { diskBytes: 24e12, writeBytes: 150e6, partitionBytes: 10e6 }

export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: '' | 'B' | 'B/s'
  /** How it comes about, with the numbers in it. */
  readonly formula: string
}

/** Traffic, storage, and how many hosts each of them asks for. */
export function size(load: Workload, host: HostLimits): Figure[] {
  const traffic = trafficOf(load)
  const stored = storedOf(load, traffic.mean)
  const byStorage = Math.ceil(stored.local.value / host.diskBytes)
  const byWrites = Math.ceil(traffic.writes.value / host.writeBytes)
  const byReads = host.readBytes === undefined ? 0 : Math.ceil(traffic.out.value / host.readBytes)
  const partitions = Math.ceil(traffic.ingest.value / host.partitionBytes)
  const bytes = formatQuantity
  return [
    traffic.ingest,
    traffic.between,
    traffic.writes,
    traffic.out,
    stored.local,
    ...(stored.remote === null ? [] : [stored.remote]),
    figure(
      'hosts by storage',
      byStorage,
      '',
      `${bytes(stored.local.value, 'B')} / ${bytes(host.diskBytes, 'B')} a host`,
    ),
    figure(
      'hosts by throughput',
      byWrites,
      '',
      `${bytes(traffic.writes.value, 'B/s')} / ${bytes(host.writeBytes, 'B/s')} a host`,
    ),
    ...(host.readBytes === undefined
      ? []
      : [
          figure(
            'hosts by reading',
            byReads,
            '',
            `${bytes(traffic.out.value, 'B/s')} / ${bytes(host.readBytes, 'B/s')} a host`,
          ),
        ]),
    figure(
      'hosts',
      Math.max(byStorage, byWrites, byReads, load.copies),
      '',
      `the ${host.readBytes === undefined ? 'larger of the two' : 'largest of the three'}, and no fewer than copies`,
    ),
    figure(
      'partitions',
      partitions,
      '',
      `${bytes(traffic.ingest.value, 'B/s')} / ${bytes(host.partitionBytes, 'B/s')} a partition`,
    ),
  ]
}

function trafficOf(load: Workload) {
  const { peakRecords, recordBytes, copies, groups, compression, meanShare } = load
  const ingest = (peakRecords * recordBytes) / compression
  const compressed = compression === 1 ? '' : ` / ${compression}`
  const records = `${formatQuantity(peakRecords, '')}/s × ${formatQuantity(recordBytes, 'B')}${compressed}`
  const rate = formatQuantity(ingest, 'B/s')
  return {
    ingest: figure('ingest', ingest, 'B/s', records),
    between: figure('between nodes', ingest * (copies - 1), 'B/s', `${rate} × (${copies} copies - 1)`),
    writes: figure('disk writes', ingest * copies, 'B/s', `${rate} × ${copies} copies`),
    out: figure('out to consumers', ingest * groups, 'B/s', `${rate} × ${groups} groups`),
    mean: ingest * meanShare,
  }
}

function storedOf({ meanShare, copies, retentionSeconds, tieredAfterSeconds }: Workload, mean: number) {
  const localSeconds = Math.min(retentionSeconds, tieredAfterSeconds ?? retentionSeconds)
  const rate = `${formatQuantity(mean, 'B/s')} (${Math.round(meanShare * 100)} % of the peak)`
  const local = figure(
    'storage',
    mean * localSeconds * copies,
    'B',
    `${rate} × ${days(localSeconds)} × ${copies} copies`,
  )
  if (tieredAfterSeconds === null) return { local, remote: null }
  const remote = figure('object store', mean * retentionSeconds, 'B', `${rate} × ${days(retentionSeconds)}`)
  return { local, remote }
}

function days(seconds: number): string {
  return seconds >= 86_400
    ? `${Number((seconds / 86_400).toPrecision(3))} d`
    : `${Number((seconds / 3600).toPrecision(3))} h`
}

function figure(name: string, value: number, unit: Figure['unit'], formula: string): Figure {
  return { name, value, unit, formula }
}
