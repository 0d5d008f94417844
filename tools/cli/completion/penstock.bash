# Completion of penstock's commands, options, keys and names for Bash. The command penstock completion bash prints it.

# Splits the line before the cursor into `words`, without quotes and backslashes. The last one is `word` too, and `quote`
# is the quote in which the cursor stands. Bash replaces what follows `kept`, a part of `word`: it begins after the last
# character of COMP_WORDBREAKS that no quotes hold, such as = or :.
_penstock_split() {
  local line=${COMP_LINE:0:COMP_POINT} character begun='' i
  words=() word='' quote='' kept=''
  for ((i = 0; i < ${#line}; ++i)); do
    character=${line:i:1}
    case $quote$character in
      "''" | '""') quote='' kept=$word ;;
      "'"*) word+=$character ;;
      \\ | \"\\)
        case ${line:i + 1:1} in [^\"\\\$\`]) [ -z "$quote" ] || word+=\\ ;; esac
        ((++i))
        word+=${line:i:1} begun=yes
        ;;
      \"?*) word+=$character ;;
      \' | \") quote=$character kept=$word begun=yes ;;
      [[:space:]])
        [ -z "$begun" ] || words+=("$word")
        word='' kept='' begun=''
        ;;
      *)
        word+=$character begun=yes
        case $COMP_WORDBREAKS in *"$character"*) kept=$word ;; esac
        ;;
    esac
  done
  words+=("$word")
}

# Sets `program` to the one that the line starts, else to that of $PATH.
_penstock_program() {
  program=${words[0]/#\~\//$HOME/}
  if [[ $program =~ ^\$\{?([A-Za-z_][A-Za-z_0-9]*)\}?(/.*)$ ]]; then
    program=${!BASH_REMATCH[1]-}${BASH_REMATCH[2]}
  fi
  type -P "$program" >/dev/null || program=penstock
}

# Adds `paths`, which follow `before` in the word, as the line takes them: quoted, and with a / after a folder.
_penstock_add_paths() {
  local path answer
  for path in ${paths[@]+"${paths[@]}"}; do
    answer=$before$path
    answer=${answer#"$kept"}
    if [ -z "$quote" ]; then
      printf -v answer %q "$answer"
      answer=${answer/#\\~\//\~/}
    fi
    [ ! -d "${path/#\~\//$HOME/}" ] || answer+=/
    COMPREPLY+=("$answer")
  done
}

_penstock() {
  local words word quote kept program
  _penstock_split
  _penstock_program

  local answers answer candidates=() kind=''
  answers=$("$program" __complete "${words[@]:1}" 2>/dev/null) || return
  while IFS= read -r answer; do
    case $answer in
      :files | :folders) kind=$answer ;;
      ?*) candidates+=("${answer%%$'\t'*}") ;;
    esac
  done <<<"$answers"

  # A path after a key or an option and = is completed for itself.
  local before='' paths=()
  case $word in --*=* | *.*=*) before=${word%%=*}= ;; esac
  case $kind in
    :files) mapfile -t paths < <(compgen -f -- "${word#"$before"}") ;;
    :folders) mapfile -t paths < <(compgen -d -- "${word#"$before"}") ;;
  esac

  COMPREPLY=()
  # With -o filenames, Bash itself quotes what it inserts and adds the /. It would take keys for names of files.
  if [[ ${#candidates[@]} == 0 && $kept == "$before"* ]]; then
    compopt -o filenames 2>/dev/null
    for answer in ${paths[@]+"${paths[@]}"}; do
      answer=$before$answer
      COMPREPLY+=("${answer#"$kept"}")
    done
    return
  fi
  for answer in ${candidates[@]+"${candidates[@]}"}; do COMPREPLY+=("${answer#"$kept"}"); done
  _penstock_add_paths
  for answer in ${COMPREPLY[@]+"${COMPREPLY[@]}"}; do
    case $answer in *[=./]) ;; *) return ;; esac
  done
  compopt -o nospace 2>/dev/null
}
# Bash looks for the last part of the program's path with the quote that ends it.
complete -F _penstock penstock 'penstock"' "penstock'"
