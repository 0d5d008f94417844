# Completion of penstock's commands, options, keys and names for Bash. It is written by: penstock completion bash

_penstock() {
  # Bash splits words at = and :, which keys and URLs contain. Pieces with no blank between them are one word.
  local rest=${COMP_LINE:0:COMP_POINT} words=() piece i
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    piece=${COMP_WORDS[i]}
    [ "$i" -lt "$COMP_CWORD" ] || piece=${rest#"${rest%%[![:space:]]*}"}
    if [[ $i == 0 || -z $rest || $rest == [[:space:]]* ]]; then
      words+=("$piece")
    else
      words[${#words[@]} - 1]+=$piece
    fi
    rest=${rest#"${rest%%[![:space:]]*}"}
    rest=${rest#"$piece"}
  done
  local word=${words[${#words[@]} - 1]}

  # What Bash replaces begins after the last = or : where these end words.
  local kept=''
  case $COMP_WORDBREAKS in *[=:]*) kept=${word%"${word##*[=:]}"} ;; esac

  local answers answer candidates=() kind=''
  answers=$("${words[0]/#\~\//$HOME/}" __complete "${words[@]:1}" 2>/dev/null) || return
  while IFS= read -r answer; do
    case $answer in
      :files | :folders) kind=$answer ;;
      ?*) candidates+=("${answer%%$'\t'*}") ;;
    esac
  done <<<"$answers"

  COMPREPLY=()
  for answer in ${candidates[@]+"${candidates[@]}"}; do
    COMPREPLY+=("${answer#"$kept"}")
    case $answer in *[=.]) compopt -o nospace 2>/dev/null ;; esac
  done
  # A path after a key or an option and = is completed for itself.
  local before='' paths=()
  case $word in --*=* | *.*=*) before=${word%%=*}= ;; esac
  case $kind in
    :files) mapfile -t paths < <(compgen -f -- "${word#"$before"}") ;;
    :folders) mapfile -t paths < <(compgen -d -- "${word#"$before"}") ;;
  esac
  [ -z "$kind" ] || compopt -o filenames 2>/dev/null
  for answer in ${paths[@]+"${paths[@]}"}; do
    answer=$before$answer
    COMPREPLY+=("${answer#"$kept"}")
  done
}
complete -F _penstock penstock
