# Prints what zsh offers for the last word of each line of standard input, one line
# each, offers separated by \x1f. $1 is sourced after the completion system started,
# which takes the functions of $fpath as $2, if it is given, puts in front.
#
# zsh completes only in its line editor, which needs a terminal: an inner shell runs in
# a pseudo-terminal, and a function in compadd's place writes down what is offered.
zmodload zsh/zpty || exit
work=$(mktemp -d) || exit
trap 'rm -rf $work' EXIT
cat >$work/lines
cat >$work/inner <<'INNER'
PS1= PS2=
[[ -z $2 ]] || fpath=($2 $fpath)
autoload -Uz compinit && compinit -D -u
source $1
compadd() {
  local -a hits
  # With these it fills arrays, and offers nothing.
  if [[ -n ${argv[(r)-[OAD]]} ]]; then
    builtin compadd "$@"
    return
  fi
  builtin compadd -A hits "$@"
  offers+=($hits)
  (( $#hits ))
}
answer() {
  local line
  while IFS= read -r line; do
    offers=() BUFFER=$line CURSOR=$#line
    zle complete-word
    print -r -- ${(pj:\x1f:)${(u)offers}}
  done <$work/lines >$work/answer 2>$work/errors
  exit
}
zle -N answer
bindkey '^T' answer
INNER
print -r -- "work=$work; set -- ${(q)1} ${(q)2-}; source $work/inner; print ready" >$work/start
zpty -b inner "cd ${(q)PWD} && exec zsh -f -i -o no_beep"
zpty -w inner "source $work/start"
output=
until [[ $output == *$'\n'ready* ]]; do
  zpty -r inner chunk && output+=$chunk || sleep 0.02
  (( SECONDS < 60 )) || { print -r -- "the inner shell says: $output" >&2; exit 1; }
done
zpty -w -n inner $'\x14'
while zpty -t inner; do
  zpty -r inner chunk || sleep 0.02 # what is not read would block it
  (( SECONDS < 120 )) || { print -r -- "no answer" >&2; exit 1; }
done
cat $work/errors >&2
cat $work/answer
