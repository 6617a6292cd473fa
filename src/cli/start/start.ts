import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AssertionError } from '../../base/assert.ts'
import type { Logger } from '../../env/logger.ts'
import type { Address } from '../../env/net.ts'
import { descriptorLimit } from '../../env-node/descriptor-limit.ts'
import { memoryLimit } from '../../env-node/memory-limit.ts'
import type { LogLevel } from '../../env-node/logger.ts'
import { nodeEnv } from '../../env-node/node-env.ts'
import { type NodeConfig, nodeConfig } from '../../server/config/node-config.ts'
import { resolveSettings } from '../../server/config/settings.ts'
import { DESCRIPTORS_MIN } from '../../server/descriptors.ts'
import type { Node } from '../../server/node.ts'
import { VERSION } from '../version.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { tidyAfterStart } from './after-start.ts'
import { type BannerFacts, banner } from './banner.ts'
import type { StartFlags } from './command.ts'
import type { ServingMessage } from './supervised-node.ts'
import { isUnwanted, NodeRun, refusalOf } from './node-run.ts'
import type { HttpServer } from './http-server.ts'
import { readSettings } from './read-settings.ts'

/** A stop that takes longer than this is cut off: what was acknowledged is safe, only the next start takes longer. */
const STOP_DEADLINE_MS = 30_000
/** A node that serves sooner than this has no HTTP before: a folder or a port that it is refused is told first. */
const HTTP_WITHIN_MS = 1000

/** Runs a node until it is told to stop. Resolves after a clean stop; throws `CommandError` when it cannot start. */
export async function start(flags: StartFlags): Promise<void> {
  const env = nodeEnv({
    log: {
      ...(flags.logLevel === undefined ? {} : { level: flags.logLevel }),
      ...(flags.logFormat === undefined ? {} : { format: flags.logFormat }),
    },
  })
  const { config: given, notes } = await configure(flags)
  for (const note of notes) env.log.warn(note)
  process.on('uncaughtException', die)
  process.on('unhandledRejection', die)
  const limit = descriptorLimit()
  if (limit !== null && limit < DESCRIPTORS_MIN) {
    const message = `this process may open ${limit} files (ulimit -n); a node needs at least ${DESCRIPTORS_MIN}`
    throw new CommandError(ExitCode.usage, message)
  }
  const stopped = untilStopped(flags.supervised === true)
  if (flags.nodes !== undefined) {
    const { nodeCount, supervise } = await import('./supervise.ts')
    await supervise(nodeCount(flags.nodes), flags, given, stopped)
    return
  }
  const run = new NodeRun(env, given, {
    descriptorLimit: limit,
    memoryLimitBytes: memoryLimit(),
    version: VERSION,
    hostName: os.hostname(),
    onBug: die,
    logLevel: { get: () => env.log.level.toUpperCase(), set: (level) => (env.log.level = levelOf(level)) },
  })
  let http: HttpServer | null = null
  const starting = run.start()
  // A node that waits for others is alive all the same, and shows what it waits for.
  const early = await Promise.race([starting, stopped, sleep(HTTP_WITHIN_MS, null, { ref: false })])
  if (typeof early !== 'string') http = await startHttp(given, run, env.log)
  const started = early ?? (await Promise.race([starting, stopped]))
  if (typeof started !== 'string') {
    announce(bannerFacts(started, http?.address ?? null))
    tidyAfterStart(() => started.connectionCount === 0)
  }
  env.log.info('stopping', { signal: await stopped })
  const deadline = setTimeout(() => {
    env.log.error('the stop took too long and is cut off; the next start checks the ends of the logs')
    process.exit(ExitCode.failed)
  }, STOP_DEADLINE_MS)
  http?.close()
  const isClean = await run.stop()
  // Should anything still keep the process alive, it ends all the same.
  deadline.unref()
  if (isClean) env.log.info('stopped cleanly')
  else env.log.warn('stopped; the next start checks the ends of the logs')
}

function bannerFacts(node: Node, http: Address | null): BannerFacts {
  const { config } = node
  return {
    version: VERSION,
    nodeId: node.nodeId,
    clusterId: node.clusterId,
    dataFolder: config.dataFolder,
    listeners: node.listeners.map(({ name, bound }) => ({
      name,
      bound,
      advertised: config.advertised.get(name) ?? null,
    })),
    controller: node.controllerAddress,
    http,
    pid: process.pid,
    durabilityMode: config.settings.text('log.durability.mode') ?? 'fsync',
  }
}

/** Kafka has two more levels than we do. */
function levelOf(level: string): LogLevel {
  const lower = level.toLowerCase()
  if (lower === 'trace') return 'debug'
  return lower === 'fatal' ? 'error' : (lower as LogLevel)
}

async function configure(flags: StartFlags): Promise<{ config: NodeConfig; notes: string[] }> {
  const { settings, ignoredVariables } = await readSettings(flags, process.env)
  const resolved = resolveSettings(settings)
  const { config: given, errors } = nodeConfig(resolved.settings)
  // As Kafka shows it in DescribeLogDirs, and as it stands in what we log.
  const config = { ...given, dataFolder: path.resolve(given.dataFolder) }
  const problems = [...resolved.errors, ...errors]
  if (problems.length > 0)
    throw new CommandError(ExitCode.usage, `the configuration is refused:\n  ${listOf(problems)}`)
  const ignored = [...resolved.ignored, ...ignoredVariables]
  return { config, notes: ignored.length === 0 ? [] : [`settings without effect here: ${ignored.join(', ')}`] }
}

const PROBLEMS_SHOWN = 20
const PROBLEM_CHARACTERS_MAX = 500

/** What was written goes to a terminal: bounded, and without control characters. */
function listOf(problems: readonly string[]): string {
  const shown = problems.slice(0, PROBLEMS_SHOWN).map((problem) => {
    const text = problem.replace(/\p{Cc}/gu, '\u{FFFD}')
    return text.length <= PROBLEM_CHARACTERS_MAX ? text : `${text.slice(0, PROBLEM_CHARACTERS_MAX)}…`
  })
  const left = problems.length - shown.length
  return [...shown, ...(left > 0 ? [`and ${left} more`] : [])].join('\n  ')
}

async function startHttp(config: NodeConfig, run: NodeRun, log: Logger): Promise<HttpServer | null> {
  if (config.http === null) return null
  const { serveHttp } = await import('./http-server.ts')
  try {
    return await serveHttp(config.http, run, log)
  } catch (error) {
    await run.stop()
    throw new CommandError(
      ExitCode.addressRefused,
      `cannot serve HTTP (${config.settings.describe('http.listen')}): ${(error as Error).message}`,
    )
  }
}

/** To whoever runs this process: a person, or the process that runs several nodes. */
function announce(facts: BannerFacts): void {
  const message: ServingMessage = { type: 'serving', facts }
  if (process.send !== undefined) process.send(message)
  else process.stdout.write(banner(facts))
}

function untilStopped(isSupervised: boolean): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      // A second signal while stopping has the system's own effect.
      process.once(signal, () => resolve(signal))
    }
    if (!isSupervised) return
    // Whoever runs this node has died: it ends too, cleanly, though nobody reads what it says any more.
    process.once('disconnect', () => resolve('the end of the process that ran this one'))
    process.channel?.unref()
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  })
}

/** The node cannot go on: it is not wanted any more, or there is a bug. Nothing in memory can be trusted any more, and nothing is written: the next start recovers from the disk. */
function die(error: unknown): never {
  const refusal = isUnwanted(error) ? refusalOf(error) : null
  if (refusal !== null) {
    process.stderr.write(`millrace: ${refusal.message}\n`)
    process.exit(refusal.code)
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  const kind = error instanceof AssertionError ? 'a broken promise of the code' : 'an unexpected error'
  process.stderr.write(`millrace: stopped because of ${kind}; acknowledged records are safe\n${text}\n`)
  process.exit(ExitCode.bug)
}
