import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/**
 * The same runs in processes of another heap, time zone and language: what differs there reached past the simulator.
 * Returns the number of differences.
 */
export async function compareWithAnotherProcess(
  main: string,
  selection: readonly string[],
  hashes: ReadonlyMap<string, string>,
): Promise<number> {
  const env = { ...process.env, TZ: 'Asia/Kathmandu', LANG: 'tr_TR.UTF-8' }
  const child = spawn(process.execPath, ['--max-semi-space-size=1', main, ...selection, '--hashes'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let [seen, different] = [0, 0]
  for await (const line of createInterface(child.stdout)) {
    const match = /^hash (.*) (\S+)$/.exec(line)
    if (match === null) {
      console.log(line)
      continue
    }
    seen++
    const expected = hashes.get(match[1] as string)
    if (expected === match[2]) continue
    different++
    console.log(`FAIL  ${match[1]}: ${expected} here, ${match[2]} in another process. Compare with --trace FILE`)
  }
  if (seen !== hashes.size) {
    console.log(`FAIL  ${hashes.size - seen} runs did not end in the other process`)
    return 1
  }
  if (different === 0) console.log(`ok    ${seen} hashes are the same in another process`)
  return different
}
