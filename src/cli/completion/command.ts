import type { Command } from 'commander'

const TEXT = `
To use it:
  bash  echo 'source <(millrace completion bash)' >> ~/.bashrc
  zsh   echo 'source <(millrace completion zsh)' >> ~/.zshrc       # after compinit
  fish  millrace completion fish > ~/.config/fish/completions/millrace.fish

It knows every command and option, and asks the cluster (MILLRACE_SERVER, or -s on the line) for names of topics and
groups, which it keeps for ten seconds.`

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print what makes a shell complete commands, options, topics and groups')
    .argument('<shell>', 'bash, zsh or fish')
    .addHelpText('after', TEXT)
    .action(async (shell: string) => (await import('./scripts.ts')).printScript(shell))

  program
    .command('__complete', { hidden: true })
    .argument('<index>')
    .argument('[words...]')
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (index: string, words: string[]) =>
      (await import('./complete.ts')).printCandidates(program, Number(index), words),
    )
}
