import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inTopicOfItsOwn } from '../bench/bench.ts'
import type { BenchResult, BenchSettings } from '../bench/result.ts'
import { runConsume, runProduce } from '../bench/runs.ts'
import { withCluster } from '../connect.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import type { ServingMessage } from '../start/supervised-node.ts'

const PRODUCE_MS = 5_000
const CONSUME_MS = 10_000
const PARTITIONS = 6

/** Runs a node of this build on a folder of its own for some seconds, and measures it with records of this size. */
export async function measureHere(valueBytes: number, folder: string = tmpdir()): Promise<BenchResult[]> {
  const data = await mkdtemp(join(folder, 'millrace-measure-'))
  const listen = ['--listen', '127.0.0.1:0', '--controller-listen', '127.0.0.1:0', '--http', 'off']
  const args = [...process.execArgv, process.argv[1] as string, 'start', '--supervised', '--data', data, ...listen]
  const node = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  try {
    return await measureAt(await addressOf(node), Math.max(1, Math.round(valueBytes)))
  } finally {
    const ended = node.exitCode === null ? once(node, 'exit') : null
    node.kill('SIGKILL')
    await ended
    await rm(data, { recursive: true, force: true })
  }
}

async function addressOf(node: ReturnType<typeof spawn>): Promise<string> {
  const told = new AbortController()
  try {
    const message = await Promise.race([
      once(node, 'message', { signal: told.signal }),
      once(node, 'exit', { signal: told.signal }).then(() => null),
    ])
    const bound = (message?.[0] as ServingMessage | undefined)?.facts.listeners[0]?.bound
    if (bound === undefined) throw new CommandError(ExitCode.failed, 'the node to be measured did not start')
    return `${bound.host}:${bound.port}`
  } finally {
    told.abort()
  }
}

function measureAt(server: string, valueBytes: number): Promise<BenchResult[]> {
  const settings: BenchSettings = {
    topic: '',
    valueBytes,
    partitions: PARTITIONS,
    compression: 'none',
    acks: 'all',
    lingerMs: 5,
    batchBytes: 128 * 1024,
    rate: null,
    recordsMax: Number.MAX_SAFE_INTEGER,
    durationMs: PRODUCE_MS,
  }
  return withCluster({ server }, (session) =>
    inTopicOfItsOwn(session, settings, {}, async (own) => [
      await runProduce(session, own),
      await runConsume(session, { ...own, durationMs: CONSUME_MS }),
    ]),
  )
}
