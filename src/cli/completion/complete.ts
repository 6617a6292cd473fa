import type { Command } from 'commander'
import { CommandError } from '../exit-code.ts'
import { KAFKA_TOOLS } from '../kafka/names.ts'
import { leadingOptions } from '../leading-options.ts'
import { write } from '../output.ts'
import { type Candidates, candidatesFor } from './candidates.ts'
import { clusterNames } from './names.ts'

/** Prints what the word at `index` of the line may become, one a line. The first word is the program. */
export async function printCandidates(program: Command, index: number, line: readonly string[]): Promise<void> {
  const words = line.slice(1, index + 1)
  while (words.length < index) words.push('')
  const current = words.at(-1) ?? ''
  const found = await wordsOf(await candidates(program, words), serverOf(words))
  const fitting = found.filter((word) => word.startsWith(current) || word === ':files')
  await write(fitting.map((word) => `${word}\n`).join(''))
}

async function candidates(program: Command, words: readonly string[]): Promise<Candidates> {
  const [tool = ''] = words
  if (KAFKA_TOOLS.includes(tool) && words.length > 1) {
    const { flagsOfKafkaTool } = await import('../kafka/main.ts')
    return { type: 'words', words: await flagsOfKafkaTool(tool) }
  }
  const found = candidatesFor(program, [...wordsBefore(program, words.slice(0, -1)), words.at(-1) ?? ''])
  if (words.length > 1 || found.type !== 'words' || tool.startsWith('-')) return found
  // The names of Kafka's tools only to whoever has begun one.
  return tool.startsWith('k') ? { type: 'words', words: [...found.words, ...KAFKA_TOOLS] } : found
}

/** Without what may stand in front of a verb. */
function wordsBefore(program: Command, words: readonly string[]): readonly string[] {
  try {
    return leadingOptions(program, words).words
  } catch (error) {
    if (error instanceof CommandError) return words
    throw error
  }
}

function serverOf(words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => word === '-s' || word === '--server')
  return at < 0 ? undefined : words[at + 1]
}

async function wordsOf(found: Candidates, server: string | undefined): Promise<readonly string[]> {
  switch (found.type) {
    case 'words':
      return found.words
    case 'files':
      return [':files']
    case 'topics':
    case 'groups':
      return clusterNames(found.type, server).catch(ignoreFailure)
    case 'errors':
      return Object.keys((await import('../../protocol/errors.ts')).ErrorCode)
    case 'settings': {
      const { brokerConfigs, groupConfigs, topicConfigs } = await import('../../controller/config-defs.ts')
      return [...new Set([...topicConfigs.keys(), ...brokerConfigs.keys(), ...groupConfigs.keys()])].toSorted()
    }
  }
}

/** Whoever presses a key wants no message in the middle of the line. */
function ignoreFailure(error: unknown): string[] {
  if (error instanceof CommandError) return []
  throw error
}
