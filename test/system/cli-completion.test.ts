import assert from 'node:assert/strict'
import { globSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Cli } from '../support/cli.ts'
import { root } from '../support/files.ts'
import { run } from '../support/process.ts'
import { testServer } from '../support/test-server.ts'

test('bash completes commands, options, topics and groups', async (context) => {
  const server = await testServer(context)
  const cli = new Cli(context, server.address)
  symlinkSync(join(root, 'bin', 'millrace'), join(cli.directory, 'millrace'))
  await cli.text(['topic', 'create', 'orders', 'outbox', 'audit'])
  await cli.text(['group', 'rewind', 'billing', '--to', 'earliest', '--topic', 'orders', '--yes'])

  /** What bash offers after this line, as its own completion has it. */
  const offered = async (line: string, address = server.address) => {
    // As bash does: at blanks, and at each : and =.
    const words = line
      .split(' ')
      .flatMap((word) => (word === '' ? [''] : word.split(/([:=])/).filter((part) => part !== '')))
    const script = [
      'source <(millrace completion bash)',
      `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`,
      `COMP_LINE='${line}'; COMP_POINT=${line.length}`,
      'eval "$(complete -p millrace | sed "s/.*-F \\([^ ]*\\) .*/\\1/")"',
      'printf "%s\\n" "${COMPREPLY[@]}"',
    ].join('\n')
    const env = {
      PATH: `${cli.directory}:${process.env.PATH}`,
      MILLRACE_SERVER: address,
      XDG_CACHE_HOME: join(cli.directory, 'cache'),
    }
    const { stdout, stderr } = await run('bash', ['-c', script], { cwd: cli.directory, env, timeoutMs: 60_000 })
    assert.equal(stderr, '')
    return stdout.split('\n').filter((word) => word !== '')
  }

  assert.deepEqual(await offered('millrace to'), ['topic'])
  assert.ok((await offered('millrace ')).includes('doctor'))
  assert.deepEqual(await offered('millrace topic d'), ['describe'])
  assert.deepEqual(await offered('millrace topic create --if'), ['--if-not-exists'])
  assert.deepEqual(await offered('millrace topic describe o'), ['orders', 'outbox'])
  assert.deepEqual(await offered('millrace consume orders a'), ['audit'])
  assert.deepEqual(await offered(`millrace -s ${server.address} topic describe o`, '127.0.0.1:1'), ['orders', 'outbox'])
  await cli.text(['group', 'rewind', 'a:b', '--to', 'earliest', '--topic', 'orders', '--yes'])
  assert.deepEqual(await offered(`millrace group describe -s ${server.address} a:`, '127.0.0.1:1'), ['b'])
  assert.deepEqual(await offered('millrace consume --group b'), ['billing'])
  assert.deepEqual(await offered('millrace topic ls --format '), ['text', 'json'])
  assert.deepEqual(await offered('millrace explain NOT_LEADER'), ['NOT_LEADER_OR_FOLLOWER'])
  assert.deepEqual(await offered('millrace config explain retention.m'), ['retention.ms'])
  assert.deepEqual(await offered('millrace dump mill'), ['millrace'])
  assert.deepEqual(await offered('millrace kafka-topics --under-m'), ['--under-min-isr-partitions'])
  assert.deepEqual(await offered('millrace topic create new'), [], 'a new name is nobody else’s')

  const [kept = ''] = globSync('names-topics-*.json', { cwd: join(cli.directory, 'cache', 'millrace') })
  writeFileSync(join(cli.directory, 'cache', 'millrace', kept), '["kept"]')
  assert.deepEqual(await offered('millrace topic describe k'), ['kept'], 'not asked for again at once')
  assert.deepEqual(await offered('millrace topic describe o', '127.0.0.1:1'), [], 'nobody there, and no noise')
})

test('scripts are there for three shells, and for no other', async (context) => {
  const cli = new Cli(context, '127.0.0.1:1')
  for (const shell of ['bash', 'zsh', 'fish']) assert.match(await cli.text(['completion', shell]), /__complete/)
  const { code, stderr } = await cli.run(['completion', 'tcsh'])
  assert.equal(code, 2)
  assert.match(stderr, /bash, zsh, fish are known/)
  assert.doesNotMatch(await cli.text(['--help']), /__complete/)
})
