import { run } from './program.ts'

// The reader of our output has gone (`millrace consume … | head`): nothing is left to do.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  process.stderr.write(`millrace: the output cannot be written: ${error.message}\n`)
  process.exit(1)
})
process.exitCode = await run(process.argv.slice(2))
