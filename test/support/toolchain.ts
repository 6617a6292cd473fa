import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory } from './files.ts'
import { haveKafka } from './kafka-oracle.ts'
import { run, runOrFail } from './process.ts'

/** What some checks need beyond Node and npm. */
export type Tool = 'kafka' | 'kcat' | 'python-client' | 'python-clients' | 'strace' | 'mount' | 'network' | 'promtool'

/** The release of confluent-kafka (and the librdkafka in it) that the checks were written against. */
export const pythonClientVersion = '2.16.1'

/** The other Python clients, and the codecs that they take from elsewhere; `npm run compat` uses them. */
const pythonPackages = [
  `confluent-kafka==${pythonClientVersion}`,
  'kafka-python==3.0.12',
  'aiokafka==0.14.0',
  'cramjam==2.14.0',
  'lz4==4.4.5',
  'python-snappy==0.7.3',
  'zstandard==0.25.0',
]

/** The interpreter that has confluent-kafka; `MILLRACE_PYTHON` names another one. */
export function pythonPath(): string {
  return process.env.MILLRACE_PYTHON ?? join(cacheDirectory, 'python', 'bin', 'python')
}

/** Makes the virtual environment with confluent-kafka and the other Python clients, once. */
export async function fetchPythonClients(): Promise<void> {
  if (await have('python-clients')) return
  const directory = join(cacheDirectory, 'python')
  if (!existsSync(pythonPath())) await runOrFail('python3', ['-m', 'venv', directory])
  // By the interpreter and not by `pip`, whose first line holds the path at which the environment was made.
  await runOrFail(pythonPath(), ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', ...pythonPackages])
}

/** A line of Python that fails unless the package is there in that version. */
function isThere(requirement: string): string {
  const [name, version] = requirement.split('==')
  return `import importlib.metadata as m; assert m.version('${name}') == '${version}'`
}

async function have(tool: Tool): Promise<boolean> {
  const works = async (command: string, ...args: string[]) => {
    try {
      return (await run(command, args, { timeoutMs: 20_000 })).code === 0
    } catch {
      return false
    }
  }
  switch (tool) {
    case 'kafka':
      return haveKafka() && (await works('java', '-version'))
    case 'kcat':
      return works('kcat', '-V')
    case 'python-client':
      return existsSync(pythonPath()) && works(pythonPath(), '-c', 'import confluent_kafka')
    case 'promtool':
      return works('promtool', '--version')
    case 'python-clients':
      return existsSync(pythonPath()) && works(pythonPath(), '-c', pythonPackages.map(isThere).join('\n'))
    case 'strace':
      return works('strace', '-V')
    case 'network':
      return process.getuid?.() === 0 && (await works('ip', '-V')) && (await works('unshare', '--net', 'true'))
    case 'mount':
      return process.getuid?.() === 0 && (await works('losetup', '--version')) && (await works('mkfs.ext4', '-V'))
  }
}

/**
 * The tools of `wanted` that this machine lacks. With `MILLRACE_REQUIRE_TOOLS=1`, as in CI, a missing one is an error,
 * so that nothing is skipped without anyone noticing.
 */
export async function missingTools(wanted: readonly Tool[]): Promise<Tool[]> {
  const missing: Tool[] = []
  for (const tool of wanted) if (!(await have(tool))) missing.push(tool)
  if (missing.length > 0 && process.env.MILLRACE_REQUIRE_TOOLS === '1') {
    throw new Error(`missing on this machine: ${missing.join(', ')} (npm run tools installs them)`)
  }
  return missing
}

/** The `skip` option of a test that needs tools: false, or the one line that says what is missing. */
export async function skipWithout(...wanted: Tool[]): Promise<string | false> {
  const missing = await missingTools(wanted)
  return missing.length === 0 ? false : `needs ${missing.join(', ')}: npm run tools`
}
