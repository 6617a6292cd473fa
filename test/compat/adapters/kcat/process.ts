import { spawn } from 'node:child_process'

/** What kcat printed about a failure: its last line, without what changes from run to run. */
export class KcatFailure extends Error {
  override name = 'KcatFailure'
  readonly output: string

  constructor(message: string, output: string) {
    super(message)
    this.output = output
  }
}

/** Librdkafka's settings that make it give up while somebody waits. */
const patience = ['-X', 'message.timeout.ms=8000', '-X', 'topic.metadata.propagation.max.ms=3000']

/** Runs it to its end, and gives what it printed. */
export async function kcat(
  bootstrap: string,
  args: readonly string[],
  input: Buffer | null = null,
  timeoutMs = 20_000,
): Promise<Buffer> {
  const settings = args.includes('-P') ? patience : []
  const child = spawn('kcat', ['-b', bootstrap, ...settings, ...args], { timeout: timeoutMs })
  const output: Buffer[] = []
  const errors: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  child.stdin.on('error', () => {}) // it may end without reading all
  child.stdin.end(input ?? undefined)
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exit) => resolve(exit ?? -1))
  })
  const told = Buffer.concat(errors).toString()
  if (code !== 0 || /Delivery failed|^% ERROR/m.test(told)) throw failureIn(told, code)
  return Buffer.concat(output)
}

/** `% ERROR: …: Broker: Unknown topic or partition` becomes `Broker: Unknown topic or partition`. */
export function failureIn(output: string, code: number): KcatFailure {
  const line = output
    .split('\n')
    .filter((each) => /Delivery failed|^% ERROR|^% FATAL/.test(each))
    .at(0)
  const known = /((?:Broker|Local): [^:()]*)/.exec(line ?? '')?.[1]
  return new KcatFailure(known?.trim() ?? `ended with ${code}`, output)
}
