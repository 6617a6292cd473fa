import { existsSync } from 'node:fs'
import type { NodeConfig } from '../../server/config/node-config.ts'
import { META_PROPERTIES, nodeFolderName } from '../../storage/file-names.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { type BannerFacts, bannerOfNodes } from './banner.ts'
import type { StartFlags } from './command.ts'
import { type NodePlan, planNodes, withoutJoin } from './nodes-plan.ts'
import { NodeRefusedError, SupervisedNode } from './supervised-node.ts'

const NODES_MAX = 100

/** How many nodes `--nodes` asks for. Throws `CommandError`. */
export function nodeCount(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 1 && count <= NODES_MAX) return count
  throw new CommandError(ExitCode.usage, `--nodes ${text} is not a number from 1 to ${NODES_MAX}`)
}

/**
 * Runs several nodes of one cluster on this host, a process each, until told to stop: `--nodes`. A new cluster is formed by the
 * first, and the others join it one after the other; those that were there before start together, as none of them
 * may be able to serve alone.
 */
export async function supervise(
  count: number,
  flags: StartFlags,
  config: NodeConfig,
  stopped: Promise<string>,
): Promise<void> {
  checkFolder(config.dataFolder, count)
  const isTerminal = process.stderr.isTTY
  const nodes = planNodes(count, flags, config).map(
    (plan) =>
      new SupervisedNode(plan, {
        command: [process.execPath, ...process.execArgv, process.argv[1] as string],
        logFormat: flags.logFormat ?? (isTerminal ? 'text' : 'json'),
        say: (line, isError) => (isError ? process.stderr : process.stdout).write(`${line}\n`),
      }),
  )
  try {
    const facts = await Promise.race([startAll(nodes, flags), stopped])
    if (typeof facts !== 'string') {
      process.stdout.write(bannerOfNodes(facts))
      await stopped
    }
  } catch (error) {
    if (!(error instanceof NodeRefusedError)) throw error
    throw new CommandError(error.code, error.message)
  } finally {
    // In turn: each hands over to those that are left.
    for (const node of nodes) await node.stop()
  }
}

/** It must not be the folder of a single node. Throws `CommandError`. */
function checkFolder(folder: string, count: number): void {
  if (existsSync(`${folder}/${META_PROPERTIES}`)) {
    const message = `${folder} is the data folder of one node: --nodes ${count} needs one of its own (--data)`
    throw new CommandError(ExitCode.dataRefused, message)
  }
  const next = nodeFolderName(count + 1)
  if (!existsSync(`${folder}/${next}/${META_PROPERTIES}`)) return
  process.stderr.write(`millrace: ${folder} holds more nodes than --nodes ${count} starts: ${next} stays down\n`)
}

async function startAll(nodes: readonly SupervisedNode[], flags: StartFlags): Promise<BannerFacts[]> {
  const facts = new Map<SupervisedNode, BannerFacts>()
  const start = async (node: SupervisedNode, args: readonly string[]) => {
    facts.set(node, await node.start(args))
  }
  const old = nodes.filter(({ plan }) => isUsed(plan))
  await Promise.all(old.map((node) => start(node, withoutJoin(node.plan.args))))
  for (const node of nodes) {
    if (old.includes(node)) continue
    const isFirst = facts.size === 0 && flags.join === undefined
    await start(node, isFirst ? withoutJoin(node.plan.args) : node.plan.args)
  }
  return nodes.map((node) => facts.get(node) as BannerFacts)
}

function isUsed({ dataFolder }: NodePlan): boolean {
  return existsSync(`${dataFolder}/${META_PROPERTIES}`)
}
