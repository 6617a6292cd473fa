import { MalformedError } from '../base/bytes.ts'
import type { Disk } from '../env/disk.ts'
import { partitionName, type TopicPartition } from '../model/ids.ts'
import { decodeCheckpoint, encodeCheckpoint, parseWhole } from './checkpoint-text.ts'
import { readFileIfThere, replaceFile } from './files.ts'
import { GroupedCall } from './grouped-call.ts'

/** One offset a partition, by partition name. */
export type OffsetTable = ReadonlyMap<string, TopicPartition & { readonly offset: number }>

/**
 * A file with one offset a partition: recovery points, start offsets, high watermarks. Written as a whole.
 */
export class OffsetCheckpointFile {
  readonly path: string
  readonly #disk: Disk
  readonly #collect: () => Iterable<TopicPartition & { offset: number }>
  readonly #writing = new GroupedCall(() => this.#writeNow())
  #written = ''

  /** `collect` gives the entries at the moment of a write. */
  constructor(disk: Disk, path: string, collect: () => Iterable<TopicPartition & { offset: number }>) {
    this.#disk = disk
    this.path = path
    this.#collect = collect
  }

  /** Resolves when what `collect` gives now, or gave later, is durable. Skips the write when nothing has changed. */
  write(): Promise<void> {
    return this.#writing.call()
  }

  async #writeNow(): Promise<void> {
    const lines = Array.from(this.#collect(), ({ topic, partition, offset }) => `${topic} ${partition} ${offset}`)
    const content = encodeCheckpoint(lines)
    const text = content.toString('latin1')
    if (text === this.#written) return
    this.#written = ''
    await replaceFile(this.#disk, this.path, [content])
    this.#written = text
  }

  /** Null when there is no file or no whole one: then nothing is known. */
  async read(): Promise<OffsetTable | null> {
    const content = await readFileIfThere(this.#disk, this.path)
    if (content === null) return null
    try {
      return decodeOffsets(content)
    } catch (error) {
      if (error instanceof MalformedError) return null
      throw error
    }
  }
}

export function decodeOffsets(content: Buffer): OffsetTable {
  const table = new Map<string, TopicPartition & { offset: number }>()
  for (const [topic, partition, offset] of decodeCheckpoint(content, 3)) {
    const topicPartition = { topic: topic as string, partition: parseWhole(partition, 0) }
    table.set(partitionName(topicPartition), { ...topicPartition, offset: parseWhole(offset, 0) })
  }
  return table
}
