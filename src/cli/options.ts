import { type Command, Option } from 'commander'
import { DEFAULT_SERVER } from './defaults.ts'

/** Adds what every verb that talks to a cluster takes. */
export function withServer(command: Command): Command {
  return command.option(
    '-s, --server <host:port,...>',
    `servers to ask first (default: MILLRACE_SERVER, else ${DEFAULT_SERVER})`,
  )
}

export function withFormat(command: Command): Command {
  return command.addOption(new Option('--format <format>').choices(['text', 'json']).default('text'))
}

/** Collects a flag that may stand several times. */
export function collect(value: string, all: readonly string[] = []): string[] {
  return [...all, value]
}
