import type { Disk } from '../../env/disk.ts'
import type { Address } from '../../env/net.ts'
import { readFileIfThere, replaceFile } from '../../storage/files.ts'
import { formatAddress, parseHostPort } from '../config/listeners.ts'
import { ROLES, type Role } from '../config/membership-config.ts'
import { parseProperties } from '../config/properties.ts'

/** In the data folder of a node that joined a cluster. Its keys are those of `server.properties`. */
export const JOINED_FILE = 'joined.properties'

/**
 * What a node that joined a cluster must still know when it starts again without being told: that it is no cluster of its
 * own, what it is in the other one, and whom to ask while its metadata log is empty. Later that log says more.
 */
export interface Joined {
  readonly roles: readonly Role[]
  readonly controllers: readonly Address[]
}

/** Null when the node of this folder joined nobody. */
export async function readJoined(disk: Disk, folder: string): Promise<Joined | null> {
  const content = await readFileIfThere(disk, `${folder}/${JOINED_FILE}`)
  if (content === null) return null
  const values = new Map(parseProperties(content.toString('utf8')).map(({ key, value }) => [key, value]))
  const list = (key: string) => (values.get(key) ?? '').split(',')
  return {
    roles: ROLES.filter((role) => list('process.roles').includes(role)),
    controllers: list('controller.quorum.bootstrap.servers').flatMap((text) => parseHostPort(text) ?? []),
  }
}

/** Durable when it resolves. */
export async function writeJoined(disk: Disk, folder: string, { roles, controllers }: Joined): Promise<void> {
  const lines = [
    '# Written by this node when it joined its cluster.',
    `process.roles=${roles.join(',')}`,
    `controller.quorum.bootstrap.servers=${controllers.map(formatAddress).join(',')}`,
  ]
  await replaceFile(disk, `${folder}/${JOINED_FILE}`, [Buffer.from(`${lines.join('\n')}\n`)])
}
