/** `max.connections.per.ip.overrides`: `host:number` pairs. */
export function perIpOverrides(pairs: readonly string[]): {
  readonly overrides: ReadonlyMap<string, number>
  readonly problems: readonly string[]
} {
  const overrides = new Map<string, number>()
  const problems: string[] = []
  for (const pair of pairs) {
    const match = /^(.+):(\d+)$/.exec(pair)
    if (match === null) problems.push(`'${pair}' is not host:number`)
    else overrides.set(match[1] as string, Number(match[2]))
  }
  return { overrides, problems }
}
