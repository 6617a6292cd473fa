import type { Disk } from '../env/disk.ts'
import { DataFolderError } from './errors.ts'
import { META_PROPERTIES } from './file-names.ts'
import { readFileIfThere, replaceFile } from './files.ts'

/** Whose a data folder is: `meta.properties`, version 1 (KIP-631, KIP-853), as Kafka writes and reads it. */
export interface MetaProperties {
  readonly clusterId: string
  readonly nodeId: number
  /** 22 characters of base64url; a folder keeps it for life, so that a replaced disk is noticed. */
  readonly directoryId: string
}

const VERSION = '1'

/** Null when the folder has none yet. Throws `DataFolderError` for a file of a version we do not know, or a broken one. */
export async function readMetaProperties(disk: Disk, folder: string): Promise<MetaProperties | null> {
  const path = `${folder}/${META_PROPERTIES}`
  const content = await readFileIfThere(disk, path)
  if (content === null) return null
  const values = parseProperties(content.toString('utf8'))
  const version = values.get('version')
  if (version !== '0' && version !== VERSION) {
    const what = version === undefined ? 'no version' : `version ${version}`
    throw new DataFolderError(
      version === undefined ? 'unreadable' : 'newer-version',
      `${path} has ${what}; this node knows version ${VERSION}`,
    )
  }
  const clusterId = values.get('cluster.id')
  const nodeId = Number(values.get('node.id') ?? values.get('broker.id'))
  const directoryId = values.get('directory.id') ?? ''
  if (clusterId === undefined || !Number.isInteger(nodeId)) {
    throw new DataFolderError('unreadable', `${path} names no cluster.id or no node.id`)
  }
  return { clusterId, nodeId, directoryId }
}

export async function writeMetaProperties(disk: Disk, folder: string, meta: MetaProperties): Promise<void> {
  const lines = [
    '#',
    `cluster.id=${meta.clusterId}`,
    `directory.id=${meta.directoryId}`,
    `node.id=${meta.nodeId}`,
    `version=${VERSION}`,
  ]
  await replaceFile(disk, `${folder}/${META_PROPERTIES}`, [Buffer.from(`${lines.join('\n')}\n`)])
}

/** The part of Java's properties format that such files use: comments, and keys and values parted by = or :. */
function parseProperties(text: string): Map<string, string> {
  const values = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*([^#!\s=:][^\s=:]*)\s*[=:]\s*(.*?)\s*$/.exec(line)
    if (match !== null) values.set(match[1] as string, (match[2] as string).replace(/\\(.)/g, '$1'))
  }
  return values
}
