# Prints what bash offers for the last word of each line of standard input, one line
# each. Words are separated by \x1f and end with it; so are the offers.
# $1 is sourced first; what it does not register, bash-completion's loader looks for.
set -u
source "$1" || exit
while IFS= read -r line; do
  words=()
  while [[ -n $line ]]; do
    words+=("${line%%$'\x1f'*}")
    line=${line#*$'\x1f'}
  done
  complete -p "${words[0]}" >/dev/null 2>&1 || _completion_loader "${words[0]}"
  [[ $(complete -p "${words[0]}") =~ \ -F\ ([^ ]+) ]] || exit
  COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMPREPLY=()
  "${BASH_REMATCH[1]}" "${words[0]}" "${words[COMP_CWORD]}" "${words[COMP_CWORD - 1]}"
  [[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\x1f' "${COMPREPLY[@]}"
  printf '\n'
done
