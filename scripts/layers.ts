/**
 * The table of levels and the check that every import in `src` keeps to it: a file imports from its own folder or from
 * a lower level, never from another folder of its own level.
 */
import { globSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, normalize } from 'node:path'
import { root } from '../test/support/files.ts'

const levels: readonly (readonly string[])[] = [
  ['base'],
  ['model'],
  ['env'],
  ['protocol'],
  ['rpc'],
  ['raft', 'partition', 'metadata'],
  ['controller', 'group', 'transaction', 'security', 'storage'],
  ['coordinator', 'quorum', 'replica', 'tiered'],
  ['server', 'client'],
  ['env-node', 'sim'],
  ['embedded'],
  ['cli'],
]

/** Folders whose reach is narrower than their level. */
const onlyFrom: Readonly<Record<string, readonly string[]>> = {
  // Bytes and formats are pure: the world never shows in them.
  protocol: ['base', 'model'],
  // Programs embed the client without the node.
  client: ['base', 'model', 'env', 'protocol', 'rpc'],
  // The two worlds stand beside each other; the real one knows nothing of a node.
  'env-node': ['base', 'model', 'env'],
}

/** Only tests and these may use it. */
const testing = 'testing'
const mayUseTesting = new Set(['sim', testing])

/** Folders in which nothing waits, and nothing reads the clock: time and randomness come in as arguments. */
export const synchronousFolders = ['base', 'model', 'protocol', 'raft', 'partition', 'metadata', 'controller', 'group']

/** The command around the simulator; what it runs is as strict as everything else. */
export function isSimRunner(file: string): boolean {
  return file === 'src/sim/main.ts' || file.startsWith('src/sim/runner/')
}

/** Where Node's own modules with side effects may be imported: the adapters, and the tools around the product. */
const builtinFolders = new Set(['env-node', 'cli', 'embedded', testing])
/** Pure ones; allowed everywhere. `module` only loads code: a library that is taken in when it is first needed. */
const pureBuiltins = new Set(['zlib', 'buffer', 'path', 'util', 'module'])

export interface Violation {
  readonly file: string
  readonly message: string
}

interface Import {
  readonly specifier: string
  readonly line: number
}

/** Static and dynamic imports, types included. */
export function importsOf(source: string): Import[] {
  const found: Import[] = []
  const pattern =
    /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|^\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm
  for (const match of source.matchAll(pattern)) {
    const specifier = match[1] ?? match[2] ?? match[3]
    if (specifier === undefined) continue
    found.push({ specifier, line: source.slice(0, match.index).split('\n').length })
  }
  return found
}

function levelOf(folder: string): number {
  return levels.findIndex((level) => level.includes(folder))
}

function checkFolders(from: string, to: string): string | null {
  if (from === to) return null
  if (to === testing) return mayUseTesting.has(from) ? null : `only tests and sim import ${testing}`
  if (from === testing) return null
  const [fromLevel, toLevel] = [levelOf(from), levelOf(to)]
  if (toLevel < 0) return `${to} has no level in scripts/layers.ts`
  const allowed = onlyFrom[from]
  if (allowed !== undefined) return allowed.includes(to) ? null : `${from} may import only ${allowed.join(', ')}`
  if (toLevel > fromLevel) return `${from} (level ${fromLevel}) imports upward from ${to} (level ${toLevel})`
  if (toLevel === fromLevel) return `${from} and ${to} are of the same level and must not know each other`
  return null
}

/** One import of one file; null when it is allowed. */
export function checkImport(file: string, specifier: string): string | null {
  const folder = file.split('/')[1] ?? ''
  const isTest = file.endsWith('.test.ts')
  if (specifier.startsWith('.')) {
    if (!specifier.endsWith('.ts') && !specifier.endsWith('.json')) return 'imports end in .ts'
    const target = normalize(join(dirname(file), specifier)).split('/')
    if (target[0] !== 'src') return target.length === 2 && target[1] === undefined ? null : outside(target, isTest)
    const to = target[1] ?? ''
    // A test may reach the adapters and helpers to run the code it stands beside.
    return isTest && ['env-node', 'sim', testing].includes(to) ? null : checkFolders(folder, to)
  }
  const builtin = specifier.replace(/^node:/, '')
  const isBuiltin = specifier.startsWith('node:') || builtinModules.includes(builtin)
  if (!isBuiltin) return null
  if (!specifier.startsWith('node:')) return `built-in modules are written node:${builtin}`
  if (isTest || builtinFolders.has(folder) || pureBuiltins.has(builtin)) return null
  if (isSimRunner(file)) return null
  return `${folder} reaches the world through Env; ${specifier} belongs in env-node`
}

function outside(target: readonly string[], isTest: boolean): string | null {
  const path = target.join('/')
  return isTest || path === 'package.json' ? null : `${path} is outside src`
}

export function checkLayers(): Violation[] {
  const violations: Violation[] = []
  for (const file of globSync('src/**/*.ts', { cwd: root }).sort()) {
    const folder = file.split('/')[1] ?? ''
    if (file.split('/').length > 2 && folder !== testing && levelOf(folder) < 0) {
      violations.push({ file, message: `folder ${folder} has no level in scripts/layers.ts` })
      continue
    }
    for (const { specifier, line } of importsOf(readFileSync(join(root, file), 'utf8'))) {
      const message = checkImport(file, specifier)
      if (message !== null) violations.push({ file: `${file}:${line}`, message: `${message} (import '${specifier}')` })
    }
  }
  return violations
}
