import { StringDecoder } from 'node:string_decoder'
import { ToolExit } from './tool.ts'

/** A line of more is no record that any broker takes. */
const LINE_CHARACTERS_MAX = 128 * 1024 * 1024

/** The lines of a text as Java's `BufferedReader` has them: ended by `\n`, `\r\n` or `\r`, and by nothing else. */
export async function* linesOf(
  input: AsyncIterable<Buffer>,
  charactersMax = LINE_CHARACTERS_MAX,
): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8')
  let pending: string[] = []
  let characters = 0
  let endsWithReturn = false
  for await (const chunk of input) {
    const text: string = (endsWithReturn ? '\r' : '') + decoder.write(chunk)
    // A line feed may follow, and is part of the same end.
    endsWithReturn = text.endsWith('\r')
    const parts = (endsWithReturn ? text.slice(0, -1) : text).split(/\r\n|[\n\r]/)
    for (const [index, part] of parts.entries()) {
      if (index > 0) {
        yield pending.join('')
        pending = []
        characters = 0
      }
      pending.push(part)
      characters += part.length
      if (characters > charactersMax)
        throw new ToolExit(1, 'stderr', `a line has more than ${charactersMax} characters, and no more is read`)
    }
  }
  pending.push(decoder.end())
  const last = pending.join('')
  if (last !== '' || endsWithReturn) yield last
}
