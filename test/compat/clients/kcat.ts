import { join } from 'node:path'
import { root } from '../../support/files.ts'
import { missingTools } from '../../support/toolchain.ts'
import type { ClientDefinition } from '../client.ts'

export const kcatClient: ClientDefinition = {
  name: 'kcat',
  async install() {
    if ((await missingTools(['kcat'])).length > 0) throw new Error('kcat is missing (Debian: apt-get install kcat)')
  },
  command: () => [process.execPath, join(root, 'test', 'compat', 'adapters', 'kcat', 'kcat.ts')],
}
