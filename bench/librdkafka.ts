import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory, root, temporaryDirectory } from '../test/support/files.ts'
import { Background, run, runOrFail, until } from '../test/support/process.ts'
import { recordBytes, type Transfer } from './clients.ts'

const source = join(root, 'bench', 'native', 'rdkafka-load.c')

/** Milliseconds. */
export interface Quantiles {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
}

/** Settings that make librdkafka send batches as large as the Java client of the other measurements. */
const LARGE_BATCHES = ['batch.size=131072', 'batch.num.messages=100000', 'linger.ms=5']

/** Whether the load by librdkafka can be built: a C compiler and the library's header (Debian: gcc, librdkafka-dev). */
export async function haveLibrdkafka(): Promise<boolean> {
  try {
    const program = '#include <librdkafka/rdkafka.h>\nint main(void) { return 0; }'
    return (await run('gcc', ['-fsyntax-only', '-x', 'c', '-'], { input: program })).code === 0
  } catch {
    return false
  }
}

let built: Promise<string> | null = null

/** Compiles the load, unless that was done since its source changed. Returns its path. */
function loadProgram(): Promise<string> {
  built ??= build()
  return built
}

async function build(): Promise<string> {
  const directory = join(cacheDirectory, 'bench')
  const program = join(directory, 'rdkafka-load')
  mkdirSync(directory, { recursive: true })
  const made = statSync(program, { throwIfNoEntry: false })
  if (made !== undefined && made.mtimeMs > statSync(source).mtimeMs) return program
  await runOrFail('gcc', ['-O2', '-o', program, source, '-lrdkafka', '-lpthread'])
  return program
}

async function load(args: readonly (string | number)[]): Promise<unknown> {
  return JSON.parse(await runOrFail(await loadProgram(), args.map(String)))
}

/** As fast as it can; a third more goes before, to warm the client up. */
export async function produceWithLibrdkafka(
  address: string,
  topic: string,
  records: number,
  { bytes = recordBytes, codec = 'none' }: { bytes?: number; codec?: string } = {},
): Promise<Transfer> {
  const warmUp = Math.floor(records / 3)
  const args = ['produce', address, topic, bytes, records - warmUp, warmUp, ...LARGE_BATCHES]
  const { perSecond } = (await load([...args, `compression.type=${codec}`])) as { perSecond: number }
  return { records, megabytesPerSecond: (perSecond * bytes) / 1e6 }
}

/** At an even rate without linger: the times from sending to the acknowledgement, and to a consumer in the same process. */
export async function latencyWithLibrdkafka(
  address: string,
  topic: string,
  { perSecond, seconds, warmUpSeconds }: { perSecond: number; seconds: number; warmUpSeconds: number },
): Promise<{ ack: Quantiles; endToEnd: Quantiles; late: number }> {
  const args = ['latency', address, topic, recordBytes, perSecond, seconds, warmUpSeconds, 'linger.ms=0']
  return (await load(args)) as { ack: Quantiles; endToEnd: Quantiles; late: number }
}

/** `readers` consumers that read `records` each from the beginning. */
export async function consumeWithLibrdkafka(
  address: string,
  topic: string,
  records: number,
  readers: number,
): Promise<Transfer> {
  const reading = await ConsumersAtWork.start(address, topic, { records, readers, from: 'begin' })
  return await reading.finished()
}

/** Consumers that are in place and read what comes. */
export class ConsumersAtWork {
  readonly #process: Background
  readonly #records: number

  private constructor(process: Background, records: number) {
    this.#process = process
    this.#records = records
  }

  static async start(
    address: string,
    topic: string,
    { records, readers, from }: { records: number; readers: number; from: 'begin' | 'end' },
  ): Promise<ConsumersAtWork> {
    const args = ['consume', address, topic, records, readers, from].map(String)
    const outputFile = join(temporaryDirectory('readers'), 'output')
    const process = new Background('rdkafka-load', await loadProgram(), args, { outputFile })
    await until('consumers are in place', async () => (process.output().includes('ready') ? true : null), {
      timeoutMs: 60_000,
      everyMs: 10,
    })
    return new ConsumersAtWork(process, records * readers)
  }

  async finished(): Promise<Transfer> {
    await this.#process.ended
    const line = /\{.*\}/.exec(this.#process.output())?.[0]
    if (line === undefined) throw new Error(`rdkafka-load consume failed:\n${this.#process.output()}`)
    const { perSecond } = JSON.parse(line) as { perSecond: number }
    return { records: this.#records, megabytesPerSecond: (perSecond * recordBytes) / 1e6 }
  }
}
