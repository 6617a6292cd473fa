import { join } from 'node:path'
import { cacheDirectory, root } from '../../support/files.ts'
import { run, runOrFail } from '../../support/process.ts'
import type { ClientDefinition } from '../client.ts'

const sources = join(root, 'test', 'compat', 'adapters', 'go')
const binaries = join(cacheDirectory, 'compat-go')

/** All are one module, which pins their versions; what is built already is not built again. */
async function build(name: string): Promise<void> {
  const works = await run('go', ['version'], { timeoutMs: 20_000 }).catch(() => null)
  if (works?.code !== 0) throw new Error('needs Go 1.26 (go on the PATH)')
  await runOrFail('go', ['build', '-trimpath', '-o', join(binaries, name), `./${name}`], { cwd: sources })
}

function goClient(name: string): ClientDefinition {
  return { name, install: () => build(name), command: () => [join(binaries, name)] }
}

export const franzGo = goClient('franz-go')
export const sarama = goClient('sarama')
export const kafkaGo = goClient('kafka-go')
