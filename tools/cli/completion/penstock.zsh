#compdef penstock
# Completion of penstock's commands, options, keys and names for Zsh. The command penstock completion zsh prints it.

_penstock() {
  local -a answers whole begun
  local answer word kind=''
  # The program is the one that the line starts, else that of $PATH.
  local program=${${(Q)words[1]}/#\~\//$HOME/} MATCH MBEGIN MEND
  local -a match mbegin mend
  if [[ $program =~ '^\$\{?([A-Za-z_][A-Za-z_0-9]*)\}?(/.*)$' ]] program=${(P)match[1]}$match[2]
  whence -p -- $program >/dev/null || program=penstock
  answers=("${(@f)$("$program" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  for answer in $answers; do
    case $answer in
      :files | :folders) kind=$answer ;;
      ?*)
        word=${answer%%$'\t'*}
        # In the lists of _describe, a colon ends the word.
        answer=${word//:/\\:}:${answer#*$'\t'}
        case $word in *[=.]) begun+=("$answer") ;; *) whole+=("$answer") ;; esac
        ;;
    esac
  done
  local done=1
  (( ! $#whole )) || { _describe -t words 'word' whole && done=0 }
  (( ! $#begun )) || { _describe -t keys 'key' begun -S '' && done=0 }
  [[ -z $kind ]] || compset -P '*=' || true
  case $kind in
    :files) _files && done=0 ;;
    :folders) _files -/ && done=0 ;;
  esac
  return done
}

# It is loaded by compinit under the name _penstock, or sourced.
if [ "$funcstack[1]" = _penstock ]; then
  _penstock "$@"
elif (( $+functions[compdef] )); then
  compdef _penstock penstock
fi
