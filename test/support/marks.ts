import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './files.ts'

/** Replaces the part of `file` between the marks of `name`; the words around it stay. */
export function writeBetweenMarks(file: string, name: string, text: string): void {
  const path = join(root, file)
  const [begin, end] = [`<!-- begin: ${name} -->`, `<!-- end: ${name} -->`]
  const before = readFileSync(path, 'utf8')
  const [from, to] = [before.indexOf(begin), before.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${file} lacks the marks ${begin} and ${end}`)
  writeFileSync(path, `${before.slice(0, from + begin.length)}\n${text.trim()}\n${before.slice(to)}`)
}
