import { likelyNames } from '../../controller/nearest-name.ts'
import { ErrorCode, errorMessage, errorName, isRetriable } from '../../protocol/errors.ts'
import { CommandError, ExitCode } from '../exit-code.ts'
import { print } from '../output.ts'
import type { ExplainErrorFlags } from './command.ts'

const codes = new Map<string, number>(Object.entries(ErrorCode))

export async function explainError(word: string, flags: ExplainErrorFlags): Promise<void> {
  const code = codeOf(word)
  const [name, text, retriable] = [errorName(code), errorMessage(code), isRetriable(code)]
  const again = retriable ? 'Clients try again by themselves.' : 'Trying the same again does not help.'
  await print(flags.format, { code, name, retriable, text }, [
    `${name} (${code}): ${text}.`,
    ...(code === 0 ? [] : [again]),
  ])
}

/** `not-leader or follower`, `NotLeaderOrFollowerException` and `6` are all the same. */
function codeOf(word: string): number {
  if (/^-?\d+$/.test(word)) {
    const code = Number(word)
    return [...codes.values()].includes(code) ? code : unknown(word, null)
  }
  const name = word
    .replace(/(Exception|Error)$/, '')
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()
  return codes.get(name) ?? unknown(word, likelyNames(name, codes.keys()))
}

function unknown(word: string, likely: string | null): never {
  const hint = likely === null ? '' : `; did you mean ${likely}?`
  throw new CommandError(ExitCode.failed, `${word.slice(0, 100)} is no error of the protocol${hint}`)
}
