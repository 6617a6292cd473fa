import { MalformedError } from '../base/bytes.ts'

/**
 * The text form of Kafka's checkpoint files: a line with the version, one with the number of entries, then one line
 * an entry. There is no checksum, so the count and every line are checked.
 */
const VERSION = '0'

export function encodeCheckpoint(lines: readonly string[]): Buffer {
  return Buffer.from(`${VERSION}\n${lines.length}\n${lines.map((line) => `${line}\n`).join('')}`)
}

/** The entries' words. Throws `MalformedError` for anything but a whole file of version 0. */
export function decodeCheckpoint(content: Buffer, wordsPerEntry: number): string[][] {
  const lines = content.toString('utf8').split('\n')
  if (lines.at(-1) === '') lines.pop()
  if (lines[0] !== VERSION) throw new MalformedError(`checkpoint of version ${JSON.stringify(lines[0]?.slice(0, 20))}`)
  const count = Number(lines[1])
  if (!/^[0-9]+$/.test(lines[1] ?? '') || count !== lines.length - 2) {
    throw new MalformedError(`checkpoint claims ${lines[1]?.slice(0, 20)} entries, has ${lines.length - 2}`)
  }
  return lines.slice(2).map((line) => {
    const words = line.trim().split(/\s+/)
    if (words.length !== wordsPerEntry) throw new MalformedError(`checkpoint line ${JSON.stringify(line.slice(0, 80))}`)
    return words
  })
}

/** A whole number of a checkpoint line, `min` or more. */
export function parseWhole(word: string | undefined, min: number): number {
  const value = Number(word)
  if (word === undefined || !/^-?[0-9]+$/.test(word) || !Number.isSafeInteger(value) || value < min) {
    throw new MalformedError(`checkpoint number ${JSON.stringify(word?.slice(0, 30))}`)
  }
  return value
}
