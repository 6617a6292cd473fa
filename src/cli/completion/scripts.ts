import { CommandError, ExitCode } from '../exit-code.ts'
import { write } from '../output.ts'

/** Each asks the command itself, which knows its own table; `:files` alone means names of files. */
const SCRIPTS: Readonly<Record<string, string>> = {
  // Bash takes words apart at : and =, as in HOST:PORT: they are taken from the line instead, and what bash has of the last one stays.
  bash: `_millrace() {
  local IFS=$' \\t\\n' line="\${COMP_LINE:0:COMP_POINT}" word
  local -a words
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=('')
  word="\${words[-1]}"
  IFS=$'\\n'
  COMPREPLY=($("\${words[0]}" __complete "$((\${#words[@]} - 1))" "\${words[@]}" 2>/dev/null))
  if [ "\${COMPREPLY[0]}" = ":files" ]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$word"))
  fi
  COMPREPLY=("\${COMPREPLY[@]#"\${word%"\${word##*[:=]}"}"}")
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
