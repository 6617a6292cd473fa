import { stat } from 'node:fs/promises'
import path from 'node:path'
import { MalformedError } from '../../base/bytes.ts'
import { METADATA_TOPIC } from '../../model/ids.ts'
import { OFFSETS_TOPIC } from '../../controller/topic-names.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { FileTooLargeError } from '../read-file.ts'
import type { DumpFlags } from './command.ts'
import { type DumpEntry, formatEntry } from './entry.ts'
import { dumpOffsetIndex, dumpProducers, dumpText, dumpTimeIndex, dumpTransactionIndex } from './files.ts'
import { dumpSegment, type RecordKind } from './segments.ts'

/** Prints what is in the files, one line for each entry. */
export async function dump(files: readonly string[], flags: DumpFlags): Promise<void> {
  let left = flags.limit === undefined ? Number.POSITIVE_INFINITY : Number(flags.limit)
  if (!(left > 0)) throw new CommandError(ExitCode.usage, `--limit ${flags.limit} is not a number above 0`)
  for (const file of files) {
    await checkFile(file)
    if (files.length > 1 && flags.format === 'text') await write(`${file}:\n`)
    try {
      for await (const entry of entriesOf(file, flags)) {
        const named = files.length > 1 && flags.format === 'json' ? { file, ...entry } : entry
        await write(`${formatEntry(named, flags.format)}\n`)
        if (--left === 0) return
      }
    } catch (error) {
      if (error instanceof MalformedError || error instanceof FileTooLargeError)
        throw new CommandError(ExitCode.failed, `${file}: ${error.message}`)
      throw error
    }
  }
}

async function checkFile(file: string): Promise<void> {
  const found = await stat(file).catch(() => null)
  if (found === null) throw new CommandError(ExitCode.failed, `there is no file ${file}`)
  if (found.isDirectory()) throw new CommandError(ExitCode.usage, `${file} is a folder; name the files in it`)
}

function entriesOf(file: string, flags: DumpFlags): AsyncGenerator<DumpEntry> {
  const kind = flags.as ?? kindOf(file)
  switch (kind) {
    case 'index':
      return dumpOffsetIndex(file)
    case 'timeindex':
      return dumpTimeIndex(file)
    case 'txnindex':
      return dumpTransactionIndex(file)
    case 'snapshot':
      return dumpProducers(file)
    case 'metadata':
    case 'offsets':
      return dumpSegment(file, kind)
    case 'log':
      return dumpSegment(file, flags.records ? 'plain' : ('none' satisfies RecordKind))
    default:
      return dumpText(file)
  }
}

const BINARY: ReadonlySet<string> = new Set(['index', 'timeindex', 'txnindex', 'snapshot'])
/** What Kafka and we add to the names of files that are about to go or to come. */
const PENDING = /\.(deleted|cleaned|swap)$/

/** By the name of the file, and for segments by that of the folder they lie in. */
function kindOf(file: string): string {
  const extension = path.extname(file.replace(PENDING, '')).slice(1)
  if (extension !== 'log' && extension !== 'checkpoint') return BINARY.has(extension) ? extension : 'text'
  const folder = path.basename(path.dirname(path.resolve(file)))
  if (folder.startsWith(`${METADATA_TOPIC}-`) || extension === 'checkpoint') return 'metadata'
  return folder.startsWith(`${OFFSETS_TOPIC}-`) ? 'offsets' : 'log'
}

function write(text: string): Promise<void> {
  if (process.stdout.write(text)) return Promise.resolve()
  return new Promise((resolve) => {
    process.stdout.once('drain', resolve)
  })
}
