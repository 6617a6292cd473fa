import { nodeEnv } from '../../env-node/node-env.ts'
import { parseAddresses } from '../../rpc/connection.ts'
import { DEFAULT_SERVER, namedServer } from '../defaults.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print } from '../output.ts'
import { counted } from '../quantity.ts'
import type { DoctorFlags } from './command.ts'
import type { Finding } from './finding.ts'

export async function doctor(flags: DoctorFlags): Promise<void> {
  const all = [...(await ofFolder(flags)), ...(await ofCluster(flags))]
  const failed = all.filter(({ status }) => status === 'fail').length
  const warned = all.filter(({ status }) => status === 'warn').length
  const json = { healthy: failed === 0, failed, warned, findings: all }
  await print(flags.format, json, all.flatMap(linesOf))
  if (failed > 0) throw new CommandError(ExitCode.failed, `${counted(failed, 'check')} failed`)
}

async function ofFolder({ data }: DoctorFlags): Promise<Finding[]> {
  return data === undefined ? [] : (await import('./folder.ts')).checkFolder(data)
}

async function ofCluster({ bootstrap, server, data }: DoctorFlags): Promise<Finding[]> {
  const named = namedServer(bootstrap ?? server)
  if (data !== undefined && named === null) return []
  const refuse = (message: string) => new CommandError(ExitCode.usage, message)
  const { checkCluster } = await import('./cluster.ts')
  const env = nodeEnv({ log: { level: 'error', format: 'text' } })
  return checkCluster(env, parseAddresses(named ?? DEFAULT_SERVER, refuse))
}

function linesOf({ status, about, text, advice }: Finding): string[] {
  const line = `${status.padEnd(4)}  ${about}: ${text}`
  return advice === null ? [line] : [line, `      ${advice}`]
}
