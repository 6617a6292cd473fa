/**
 * Makes `dist`, what the published package holds in place of `src`: JavaScript and type declarations, for Node does not
 * strip types inside node_modules. Run by `npm pack` and `npm publish`; a checkout runs its sources.
 */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../test/support/files.ts'

rmSync(join(root, 'dist'), { recursive: true, force: true })
const tsc = join(root, 'node_modules', '.bin', 'tsc')
process.exit(spawnSync(tsc, ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' }).status ?? 1)
