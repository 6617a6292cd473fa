import { CommandError, ExitCode } from '../exit-code.ts'
import { write } from '../output.ts'

/** Each asks the command itself, which knows its own table; `:files` alone means names of files. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_millrace() {
  local IFS=$'\\n' word="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=($("\${COMP_WORDS[0]}" __complete "$COMP_CWORD" "\${COMP_WORDS[@]}" 2>/dev/null))
  if [ "\${COMPREPLY[0]}" = ":files" ]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -F _millrace millrace
`,
  zsh: `#compdef millrace
_millrace() {
  local -a found
  found=("\${(@f)$("\${words[1]}" __complete $((CURRENT - 1)) "\${words[@]}" 2>/dev/null)}")
  if [[ "\${found[1]}" == ":files" ]]; then
    _files
  else
    compadd -a found
  fi
}
compdef _millrace millrace
`,
  fish: `function __millrace_complete
  set -l before (commandline -opc)
  set -l found (millrace __complete (count $before) $before (commandline -ct) 2>/dev/null)
  if test "$found[1]" = ":files"
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $found
  end
end
complete -c millrace -f -a '(__millrace_complete)'
`,
}

export async function printScript(shell: string): Promise<void> {
  const script = SCRIPTS[shell]
  if (script === undefined)
    throw new CommandError(
      ExitCode.usage,
      `completion ${shell.slice(0, 50)}: ${Object.keys(SCRIPTS).join(', ')} are known`,
    )
  await write(script)
}
