import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory, temporaryDirectory } from '../../support/files.ts'
import { run, runOrFail } from '../../support/process.ts'

/** The release of Debian whose librdkafka is taken: the newest. */
const suite = 'sid'
const buildTimeoutMs = 1_200_000

/** Headers that the library is built with, so that its tests of zstd, of OIDC and of statistics are among them. */
const packages = [
  'libzstd-dev',
  'liblz4-dev',
  'libssl-dev',
  'libcurl4-openssl-dev',
  'zlib1g-dev',
  'rapidjson-dev',
  'dpkg-dev',
]

export interface BuiltSuite {
  readonly version: string
  /** Holds `test-runner`; it wants to be run there. */
  readonly directory: string
}

const home = join(cacheDirectory, 'suites', 'librdkafka')

/** Fetches and builds the tests once; later calls find them. */
export async function builtSuite(): Promise<BuiltSuite> {
  const there = existing()
  if (there !== null) return there
  await requirePackages()
  const work = `${home}.partial-${process.pid}`
  rmSync(work, { recursive: true, force: true })
  mkdirSync(work, { recursive: true })
  const version = await fetchSource(work)
  const source = join(work, `source-${version}`)
  // Debian's patches leave out what the source brings along and expect packages in its place.
  const description = readdirSync(work).find((name) => name.endsWith('.dsc')) ?? ''
  await runOrFail('dpkg-source', ['-x', '--no-check', '--skip-patches', description, source], { cwd: work })
  await build(source)
  rmSync(home, { recursive: true, force: true })
  renameSync(work, home)
  return existing() ?? Promise.reject(new Error(`nothing was built in ${home}`))
}

function existing(): BuiltSuite | null {
  if (!existsSync(home)) return null
  const name = readdirSync(home).find((entry) => entry.startsWith('source-'))
  if (name === undefined) return null
  const directory = join(home, name, 'tests')
  return existsSync(join(directory, 'test-runner')) ? { version: name.slice('source-'.length), directory } : null
}

async function requirePackages(): Promise<void> {
  const missing: string[] = []
  for (const name of packages) if ((await run('dpkg', ['-s', name])).code !== 0) missing.push(name)
  if (missing.length > 0) throw new Error(`needs Debian packages: apt-get install ${missing.join(' ')}`)
}

/** Downloads the source package into `work`, and returns its upstream version. */
async function fetchSource(work: string): Promise<string> {
  const APT_CONFIG = await aptConfiguration()
  await runOrFail('apt-get', ['-q', 'update'], { env: { APT_CONFIG } })
  await runOrFail('apt-get', ['-q', 'source', '--download-only', 'librdkafka'], { cwd: work, env: { APT_CONFIG } })
  const archive = readdirSync(work).find((name) => name.endsWith('.dsc'))
  const version = /^librdkafka_(.+?)(-[^-]+)?\.dsc$/.exec(archive ?? '')?.[1]
  if (version === undefined) throw new Error(`no source package arrived in ${work}`)
  return version
}

/** Lists of its own, with the mirror and the keys of this machine: what apt knows of the system stays as it is. */
async function aptConfiguration(): Promise<string> {
  const directory = temporaryDirectory('apt')
  for (const name of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(directory, name), { recursive: true })
  const format = '$(LABEL) $(REPO_URI)'
  const targets = await runOrFail('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'])
  const mirror = /^Debian (\S+)$/m.exec(targets)?.[1]
  if (mirror === undefined) throw new Error('apt on this machine knows no mirror of Debian (apt-get update first)')
  const key = '/usr/share/keyrings/debian-archive-keyring.gpg'
  writeFileSync(join(directory, 'sources.list'), `deb-src [signed-by=${key}] ${mirror} ${suite} main\n`)
  const file = join(directory, 'apt.conf')
  writeFileSync(
    file,
    `Dir::Etc::SourceList "${directory}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "${directory}/lists";
Dir::Cache "${directory}/cache";
APT::Sandbox::User "root";
`,
  )
  return file
}

async function build(source: string): Promise<void> {
  const options = { cwd: source, timeoutMs: buildTimeoutMs }
  await runOrFail('./configure', ['--enable-zstd', '--disable-gssapi'], options)
  await runOrFail('make', ['-j2', 'libs'], options)
  await runOrFail('make', ['-j2', '-C', 'tests', 'test-runner'], options)
}
