import { fstatSync } from 'node:fs'
import { MemoryBroker } from '../../embedded/memory-broker.ts'
import type { Address } from '../../env/net.ts'
import { NetError } from '../../env/net.ts'
import { BrokerError } from '../../rpc/errors.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { write } from '../output.ts'
import { parseSettings } from '../topic/settings.ts'
import type { DevFlags } from './command.ts'
import { serveControl } from './control-server.ts'

const LOOPBACK = '127.0.0.1'

/** Runs until it is told to end, or whoever started it has. */
export async function dev(flags: DevFlags): Promise<void> {
  const topics = (flags.topic ?? []).map(parseTopic)
  const ended = untilEnded()
  const broker = await startBroker(flags)
  try {
    for (const { name, ...topic } of topics) await broker.createTopic(name, topic)
    const { url, close } = await serveControl(addressOf('--http', flags.http ?? `${LOOPBACK}:0`), broker)
    await announce(flags, broker.bootstrapServers, url)
    await ended
    close()
  } catch (error) {
    throw error instanceof BrokerError ? new CommandError(ExitCode.failed, error.message) : error
  } finally {
    await broker.close()
  }
}

async function startBroker(flags: DevFlags): Promise<MemoryBroker> {
  if (flags.port !== undefined && flags.listen !== undefined)
    throw new CommandError(ExitCode.usage, '--port or --listen, not both')
  const { host, port } = addressOf('--listen', flags.listen ?? `${LOOPBACK}:${portOf(flags.port)}`)
  const listeners = `PLAINTEXT://${host}:${port},CONTROLLER://${LOOPBACK}:0`
  try {
    return await MemoryBroker.start({ settings: { listeners, ...parseSettings(flags.option) } })
  } catch (error) {
    if (error instanceof RangeError) throw new CommandError(ExitCode.usage, error.message)
    if (error instanceof NetError) throw new CommandError(ExitCode.addressRefused, error.message)
    throw error
  }
}

/** Programs read the first line and no more. */
async function announce({ format }: DevFlags, bootstrap: string, url: string): Promise<void> {
  const facts = { bootstrap, control: url, pid: process.pid }
  const text = `millrace dev, all in memory\n  clients    ${bootstrap}\n  control    ${url}\n`
  await write(format === 'json' ? `${JSON.stringify(facts)}\n` : text)
}

/** A pipe at stdin is held by whoever started us, and closed by the kernel when that dies. */
function untilEnded(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => resolve())
    if (!isPipe(0)) return
    process.stdin.once('end', resolve).once('close', resolve).once('error', resolve).resume()
  })
}

function isPipe(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor)
    return stat.isFIFO() || stat.isSocket()
  } catch {
    return false
  }
}

function portOf(text = '0'): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new CommandError(ExitCode.usage, `--port ${text}: a number from 0 to 65535 is wanted`)
}

function addressOf(flag: string, text: string): Address {
  const match = /^(.+):(\d{1,5})$/.exec(text)
  if (match?.[1] !== undefined && Number(match[2]) <= 65_535)
    return { host: match[1].replace(/^\[(.*)\]$/, '$1'), port: Number(match[2]) }
  throw new CommandError(ExitCode.usage, `${flag} ${text}: host:port is wanted`)
}

const PARTITIONS_MAX = 10_000

function parseTopic(text: string): { name: string; partitions: number } {
  const [name = '', count = '1', ...more] = text.split(':')
  const partitions = Number(count)
  const isGood = name !== '' && more.length === 0 && Number.isInteger(partitions) && partitions >= 1
  if (isGood && partitions <= PARTITIONS_MAX) return { name, partitions }
  throw new CommandError(ExitCode.usage, `--topic ${text}: NAME or NAME:PARTITIONS is wanted, up to ${PARTITIONS_MAX}`)
}
