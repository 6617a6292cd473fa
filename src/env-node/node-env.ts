import { randomBytes } from 'node:crypto'
import type { Env } from '../env/env.ts'
import { nodeClock } from './clock.ts'
import { nodeDisk } from './disk.ts'
import { type LoggerOptions, type NodeLogger, nodeLogger } from './logger.ts'
import { nodeNet } from './net.ts'
import { nodeTimers } from './timers.ts'

export interface NodeEnv extends Env {
  readonly log: NodeLogger
}

/** The real world. One per process is enough; several share everything but the logger. */
export function nodeEnv(options: { readonly log?: LoggerOptions } = {}): NodeEnv {
  const log = nodeLogger(options.log)
  return {
    clock: nodeClock,
    timers: nodeTimers,
    net: nodeNet(log),
    disk: nodeDisk,
    log,
    randomBytes: (length) => randomBytes(length),
  }
}
