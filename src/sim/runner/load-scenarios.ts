import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** Registers the scenarios of a folder, in the order of its files. */
export async function loadScenarios(folder: string): Promise<void> {
  for (const file of fs.readdirSync(folder).sort()) {
    if (file.endsWith('.sim.ts')) await import(pathToFileURL(path.join(folder, file)).href)
  }
}
