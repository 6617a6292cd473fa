import { readEnvironment } from '../../server/config/environment.ts'
import { formatAddress, parseHostPort } from '../../server/config/listeners.ts'
import { parseProperties } from '../../server/config/properties.ts'
import type { Setting } from '../../server/config/settings.ts'
import { flattenYaml } from '../../server/config/yaml-settings.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { readText } from '../read-file.ts'
import type { StartFlags } from './command.ts'

/** All that was set for this start, wherever it was written, and the variables that mean something to a JVM only. */
export async function readSettings(
  flags: StartFlags,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<{ settings: Setting[]; ignoredVariables: readonly string[] }> {
  const fromFile = flags.config === undefined ? [] : await readConfigFile(flags.config)
  const { settings, ignored } = readEnvironment(environment)
  const fromEnvironment = settings.map(
    ({ variable, key, value }): Setting => ({ key, value, origin: 'environment', where: variable }),
  )
  const lower = [...fromFile, ...fromEnvironment]
  return { settings: [...lower, ...flagSettings(flags, lower)], ignoredVariables: ignored }
}

async function readConfigFile(path: string): Promise<Setting[]> {
  let text: string
  try {
    text = readText(path)
  } catch (error) {
    throw new CommandError(ExitCode.usage, `--config ${path} cannot be read: ${(error as Error).message}`)
  }
  if (!/\.ya?ml$/i.test(path)) {
    return parseProperties(text).map(({ key, value, line }) => ({
      key,
      value,
      origin: 'file',
      where: `${path}:${line}`,
    }))
  }
  const { parse } = await import('yaml')
  let document: unknown
  try {
    document = parse(text)
  } catch (error) {
    throw new CommandError(ExitCode.usage, `${path}: ${(error as Error).message}`)
  }
  const flat = flattenYaml(document)
  if (typeof flat === 'string') throw new CommandError(ExitCode.usage, `${path}: ${flat}`)
  return flat.map(({ key, value }) => ({ key, value, origin: 'file', where: path }))
}

function flagSettings(flags: StartFlags, lower: readonly Setting[]): Setting[] {
  const settings: Setting[] = []
  const add = (flag: string, key: string, value: string | undefined) => {
    if (value === '' && flag.startsWith('--')) throw new CommandError(ExitCode.usage, `${flag} is empty`)
    if (value !== undefined) settings.push({ key, value, origin: 'flag', where: flag })
  }
  add('--data', 'log.dirs', flags.data)
  add('--join', 'join', flags.join)
  add('--node-id', 'node.id', flags.nodeId)
  add('--roles', 'process.roles', flags.roles)
  add('--zone', 'broker.rack', flags.zone)
  add('--http', 'http.listen', flags.http)
  for (const option of flags.option ?? []) {
    const at = option.indexOf('=')
    if (at < 1) throw new CommandError(ExitCode.usage, `-o ${option} is not key=value`)
    add(`-o ${option.slice(0, at)}`, option.slice(0, at), option.slice(at + 1))
  }
  addListeners(flags, [...lower, ...settings], settings)
  if (flags.advertise !== undefined) {
    const { host, port } = address('--advertise', flags.advertise)
    add('--advertise', 'advertised.listeners', `PLAINTEXT://${formatAddress({ host, port })}`)
  }
  return settings
}

/**
 * `--listen` replaces the listeners for clients, `--controller-listen` the one of the quorum; what a flag does not name
 * stays as file and environment have it.
 */
function addListeners(flags: StartFlags, known: readonly Setting[], settings: Setting[]): void {
  if (flags.listen === undefined && flags.controllerListen === undefined) return
  const last = (key: string) => known.filter((setting) => setting.key === key).at(-1)?.value
  const controllerName = last('controller.listener.names')?.split(',')[0]?.trim() || 'CONTROLLER'
  const parts = (last('listeners') ?? '').split(',').map((part) => part.trim())
  const isController = (part: string) => part.toUpperCase().startsWith(`${controllerName.toUpperCase()}://`)
  const clients = parts.filter((part) => part !== '' && !isController(part))
  const controller = parts.filter(isController)
  const listeners = [
    ...(flags.listen === undefined
      ? clients.length > 0
        ? clients
        : ['PLAINTEXT://127.0.0.1:9092']
      : [`PLAINTEXT://${formatAddress(address('--listen', flags.listen))}`]),
    ...(flags.controllerListen === undefined
      ? controller
      : [`${controllerName}://${formatAddress(address('--controller-listen', flags.controllerListen))}`]),
  ]
  const where = [
    flags.listen === undefined ? '' : '--listen',
    flags.controllerListen === undefined ? '' : '--controller-listen',
  ]
  settings.push({
    key: 'listeners',
    value: listeners.join(','),
    origin: 'flag',
    where: where.filter(Boolean).join(', '),
  })
}

function address(flag: string, text: string): { host: string; port: number } {
  const parsed = parseHostPort(text)
  if (parsed === null) throw new CommandError(ExitCode.usage, `${flag} ${text} is not host:port`)
  return parsed
}
