import { createRequire } from 'node:module'
import type { Logger as PinoLogger } from 'pino'
import type { LogFields, Logger } from '../env/logger.ts'

const require = createRequire(import.meta.url)

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFormat = 'text' | 'json'

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 }

export interface NodeLogger extends Logger {
  /** May be changed at any time. */
  level: LogLevel
}

export interface LoggerOptions {
  /** Default `info`. */
  readonly level?: LogLevel
  /** Default: text for people when stderr is a terminal, JSON lines for machines otherwise. */
  readonly format?: LogFormat
  /** In text. Default: when stderr is a terminal, and NO_COLOR is not set. */
  readonly hasColours?: boolean
  /** Takes whole lines; default stderr. */
  readonly write?: (line: string) => void
}

/** Logs to stderr, synchronously: the last words before a crash are the ones that matter. */
export function nodeLogger(options: LoggerOptions = {}): NodeLogger {
  const format = options.format ?? (process.stderr.isTTY ? 'text' : 'json')
  const hasColours = options.hasColours ?? (process.stderr.isTTY && (process.env['NO_COLOR'] ?? '') === '')
  const emit = format === 'text' ? textEmitter(hasColours, options.write) : jsonEmitter(options.write)
  const logger: NodeLogger = {
    level: options.level ?? 'info',
    debug: (message, fields) => log('debug', message, fields),
    info: (message, fields) => log('info', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    error: (message, fields) => log('error', message, fields),
  }
  function log(level: LogLevel, message: string, fields: LogFields | undefined): void {
    if (RANK[level] >= RANK[logger.level]) emit(level, message, fields ?? {})
  }
  return logger
}

type Emit = (level: LogLevel, message: string, fields: LogFields) => void

function jsonEmitter(write: ((line: string) => void) | undefined): Emit {
  let pino: PinoLogger | null = null
  return (level, message, fields) => {
    // Loaded with the first line: most commands never log.
    pino ??= loadPino(write)
    pino[level](fields, message)
  }
}

function loadPino(write: ((line: string) => void) | undefined): PinoLogger {
  const { pino } = require('pino') as typeof import('pino')
  const destination = write ? { write } : pino.destination({ fd: 2, sync: true })
  const formatters = { level: (label: string) => ({ level: label }) }
  return pino({ level: 'debug', base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters }, destination)
}

const COLOUR: Record<LogLevel, string> = { debug: '\x1b[2m', info: '', warn: '\x1b[33m', error: '\x1b[31m' }

function textEmitter(hasColours: boolean, write = (line: string): unknown => process.stderr.write(line)): Emit {
  return (level, message, fields) => {
    const time = new Date().toISOString().slice(11, 23)
    const colour = hasColours ? COLOUR[level] : ''
    const reset = colour === '' ? '' : '\x1b[0m'
    write(`${time} ${colour}${level.padEnd(5)} ${message}${textOf(fields)}${reset}\n`)
  }
}

function textOf(fields: LogFields): string {
  let text = ''
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    text += ` ${name}=${typeof value === 'string' && /[\s"=]/.test(value) ? JSON.stringify(value) : value}`
  }
  return text
}
