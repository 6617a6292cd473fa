import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** Runs `body` with a fresh directory, which is gone afterwards however the body ended. */
export async function withTempDir<T>(body: (dir: string) => Promise<T>): Promise<T> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-test-'))
  try {
    return await body(dir)
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}
