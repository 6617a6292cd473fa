import { join } from 'node:path'
import { cacheDirectory, root } from '../../support/files.ts'
import { run, runOrFail } from '../../support/process.ts'
import type { ClientDefinition } from '../client.ts'

const sources = join(root, 'test', 'compat', 'adapters', 'rust')
const target = join(cacheDirectory, 'compat-rust')

/** It brings the sources of its librdkafka: minutes of a compiler, once. */
export const rdkafka: ClientDefinition = {
  name: 'rdkafka',
  async install() {
    const works = await run('cargo', ['--version'], { timeoutMs: 20_000 }).catch(() => null)
    if (works?.code !== 0) throw new Error('needs Rust 1.85 (cargo on the PATH)')
    await runOrFail('cargo', ['build', '--locked', '--quiet', '--target-dir', target], { cwd: sources })
  },
  command: () => [join(target, 'debug', 'compat-rdkafka')],
}
