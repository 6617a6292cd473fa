/** `npm run bench -- quick|full|failover|availability|cluster …`: each says in its first lines what it measures and how. */
const suites: Record<string, () => Promise<unknown>> = {
  quick: () => import('./quick.ts'),
  full: () => import('./full/main.ts'),
  cluster: () => import('./cluster/main.ts'),
  failover: () => import('./failover/main.ts'),
  availability: () => import('./availability/main.ts'),
}
const name = process.argv[2]?.startsWith('-') === false ? process.argv[2] : 'quick'
const suite = suites[name]
if (suite === undefined) {
  console.error(`no benchmark ${name}; there are ${Object.keys(suites).join(', ')}`)
  process.exit(2)
}
await suite()
