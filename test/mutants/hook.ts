/** `MILLRACE_MUTANT='…' node --import ./test/mutants/hook.ts …` loads the product with that mutant in it. */
import { registerHooks } from 'node:module'
import { mutantNamed } from './all.ts'
import { mutated } from './mutant.ts'

const SOURCES = new URL('../../src/', import.meta.url).href

const name = process.env.MILLRACE_MUTANT
if (name !== undefined) {
  const mutant = mutantNamed(name)
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const file = url.slice(SOURCES.length)
      if (!url.startsWith(SOURCES) || !mutant.edits.some((edit) => edit.file === file)) return loaded
      return { ...loaded, source: mutated(String(loaded.source), file, mutant) }
    },
  })
}
