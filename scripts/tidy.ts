/** Small rules that no linter knows; each says what it wants. */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../test/support/files.ts'
import { isSimRunner, synchronousFolders, type Violation } from './layers.ts'

const fileBytesMax = 512 * 1024
const codeLinesMax = 600

function trackedFiles(): string[] {
  const listing = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root })
  return listing
    .toString()
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)))
}

/** Every rule over every file; an empty answer is a tidy tree. */
export function checkTidy(): Violation[] {
  const files = trackedFiles()
  return [
    ...files.flatMap(checkSize),
    ...files.filter((file) => /\.(ts|md|sh|py)$/.test(file)).flatMap(checkText),
    ...files.filter((file) => file.startsWith('src/') && file.endsWith('.ts')).flatMap(checkSource),
    ...checkReadmes(files),
    ...checkTestNames(files),
  ]
}

function checkSize(file: string): Violation[] {
  const { size } = statSync(join(root, file))
  return size > fileBytesMax
    ? [{ file, message: `${size} bytes; at most ${fileBytesMax} belong in the repository` }]
    : []
}

// Put together so that this file does not find itself.
const leftOver = new RegExp(`\\b(${['TO', 'FIX', 'XX'].map((start, i) => start + ['DO', 'ME', 'X'][i]).join('|')})\\b`)

function checkText(file: string): Violation[] {
  const lines = readFileSync(join(root, file), 'utf8').split('\n')
  const violations: Violation[] = []
  lines.forEach((line, index) => {
    if (leftOver.test(line)) violations.push({ file: `${file}:${index + 1}`, message: 'do it or file an issue' })
    if (/[ \t]+$/.test(line) && !file.endsWith('.md')) {
      violations.push({ file: `${file}:${index + 1}`, message: 'trailing blanks' })
    }
  })
  if (file.endsWith('.ts') && lines.length > codeLinesMax) {
    violations.push({ file, message: `${lines.length} lines; a file over ${codeLinesMax} does more than one thing` })
  }
  return violations
}

/** Code without comments and strings, line by line, so that words in them do not count. */
export function codeOnly(source: string): string {
  const blank = (text: string) => text.replace(/[^\n]/g, ' ')
  const token =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[dgimsuvy]*(?=[\s,;).\]])/g
  return source.replace(token, blank)
}

function checkSource(file: string): Violation[] {
  const violations: Violation[] = []
  const folder = file.split('/')[1] ?? ''
  const isTest = file.endsWith('.test.ts')
  const isAdapter = ['env-node', 'cli', 'embedded', 'testing'].includes(folder) || isSimRunner(file)
  const lines = codeOnly(readFileSync(join(root, file), 'utf8')).split('\n')
  lines.forEach((line, index) => {
    const report = (message: string) => violations.push({ file: `${file}:${index + 1}`, message })
    if (isTest) return
    if (!isAdapter && /\bnew Date\(\s*\)/.test(line)) report('time comes through Env.clock')
    if (synchronousFolders.includes(folder) && /\b(async|await|Promise)\b/.test(line)) {
      report(`${folder} is synchronous: nothing in it waits`)
    }
    if (!isAdapter && /\bconsole\.\w+\(/.test(line)) report('log through Env.log')
  })
  return violations
}

function checkReadmes(files: readonly string[]): Violation[] {
  const folders = new Set(globSync('src/**/*.ts', { cwd: root }).map((file) => dirname(file)))
  return [...folders]
    .filter((folder) => folder.split('/').length === 2 && folder !== 'src')
    .filter((folder) => !files.includes(`${folder}/README.md`))
    .map((folder) => ({ file: folder, message: 'needs a short README.md: purpose, main types, invariants, file map' }))
}

function checkTestNames(files: readonly string[]): Violation[] {
  return files
    .filter((file) => /\.spec\.ts$|_test\.ts$/.test(file) || /[A-Z]/.test(file.match(/^src\/.*\.ts$/)?.[0] ?? ''))
    .map((file) => ({ file, message: 'files are kebab-case, tests end in .test.ts' }))
}
