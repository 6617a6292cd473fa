import { createHash } from 'node:crypto'
import { mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_SERVER, namedServer } from '../defaults.ts'
import { readText } from '../read-file.ts'

const KEPT_MS = 10_000

/** Names of topics or groups of the cluster, as they were at most ten seconds ago. */
export async function clusterNames(kind: 'topics' | 'groups', server: string | undefined): Promise<string[]> {
  const file = fileOf(kind, namedServer(server) ?? DEFAULT_SERVER)
  const kept = read(file)
  if (kept !== null) return kept
  const names = await ask(kind, server)
  keep(file, names)
  return names
}

async function ask(kind: 'topics' | 'groups', server: string | undefined): Promise<string[]> {
  const { withCluster } = await import('../connect.ts')
  return withCluster(server === undefined ? {} : { server }, async ({ admin }) => {
    const names =
      kind === 'topics'
        ? (await admin.listTopics()).map(({ name }) => name)
        : (await admin.groups.list()).map(({ groupId }) => groupId)
    return names.toSorted()
  })
}

function fileOf(kind: string, server: string): string {
  const folder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'millrace')
  return join(folder, `names-${kind}-${createHash('sha256').update(server).digest('hex').slice(0, 16)}.json`)
}

function read(file: string): string[] | null {
  try {
    if (Date.now() - statSync(file).mtimeMs > KEPT_MS) return null
    return (JSON.parse(readText(file)) as unknown[]).map(String)
  } catch {
    return null
  }
}

/** Without a folder to keep them in, they are asked for each time. */
function keep(file: string, names: readonly string[]): void {
  try {
    mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 })
    writeFileSync(`${file}.${process.pid}`, JSON.stringify(names), { mode: 0o600 })
    renameSync(`${file}.${process.pid}`, file)
  } catch {}
}
