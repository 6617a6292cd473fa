import { diskContract } from '../testing/contracts/disk.ts'
import { netContract } from '../testing/contracts/net.ts'
import type { TestWorld } from '../testing/contracts/world.ts'
import { withTempDir } from '../testing/temp-dir.ts'
import { nodeEnv } from './node-env.ts'

const env = nodeEnv({ log: { level: 'error' } })

function realWorld(name: string, host: string): TestWorld {
  return { name, host, run: (body) => withTempDir((dir) => body(env, dir, env)) }
}

diskContract(realWorld('real', '127.0.0.1'))
netContract(realWorld('real IPv4', '127.0.0.1'))
netContract(realWorld('real IPv6', '::1'))
