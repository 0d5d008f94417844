# shellcheck shell=bash
# What run_cuda and run_cpu have in common; to be sourced from the repository's root.

# A fault is a description, its file, the tests that find it (of CPU code), and text of the file (-) with
# what takes its place (+).
names=() files=() finders=() olds=() news=()
# read_faults FOLDER: all of its files.
read_faults() {
  local line
  while IFS= read -r line; do
    case $line in
      "fault: "*) names+=("${line#fault: }") files+=("") finders+=("") olds+=("") news+=("") ;;
      "file: "*) files[-1]=${line#file: } ;;
      "tests: "*) finders[-1]=${line#tests: } ;;
      "- "*) olds[-1]+=${olds[-1]:+$'\n'}${line#- } ;;
      "+"*) line=${line#+} news[-1]+=${news[-1]:+$'\n'}${line# } ;;
    esac
  done < <(cat "$1"/*.txt)
}

# wanted NAME TEXT...: whether it contains one of the texts, or there are none.
wanted() {
  local name=$1 text
  shift
  [ $# -gt 0 ] || return 0
  for text; do
    [[ $name != *"$text"* ]] || return 0
  done
  return 1
}

# with_fault I: the file of fault I with the fault. What the fault replaces must be there once.
with_fault() {
  local content old=${olds[$1]}
  content=$(cat "${files[$1]}" && echo .)
  content=${content%.}
  local without=${content/"$old"/}
  if [ "$without" = "$content" ] || [ "${without/"$old"/}" != "$without" ]; then
    printf 'mutation tests: "%s" replaces what is not once in %s:\n%s\n' "${names[$1]}" "${files[$1]}" "$old" >&2
    return 1
  fi
  printf '%s' "${content/"$old"/"${news[$1]}"}"
}

# check_all: whether all can be seeded.
check_all() {
  local i bad=0
  for i in "${!names[@]}"; do
    with_fault "$i" >/dev/null || bad=1
  done
  return $bad
}

# Makes $copy, a copy of the tree that is removed at the end.
copy_tree() {
  copy=$(mktemp -d)
  trap 'rm -rf "$copy"' EXIT
  git ls-files -z | xargs -0 cp --parents -t "$copy"
  export CCACHE_BASEDIR=$copy  # so that a later copy, of another name, finds its objects
}

# build TARGET...: in the copy.
build() {
  cmake --build "$copy/build" -j "$(jobs_at_once)" --target "$@" >"$copy/build.log" 2>&1 ||
    { tail -30 "$copy/build.log" >&2; return 1; }
}

# seed I TARGET PROGRAM: builds the target, which is that program, with fault I, as $copy/with_I. Fails where it
# does not compile.
seed() {
  local status=0
  with_fault "$1" >"$copy/${files[$1]}"
  if build "$2"; then cp "$copy/build/$3" "$copy/with_$1"; else status=1; fi
  cp "${files[$1]}" "$copy/${files[$1]}"  # newer than what was built of it
  [ $status -eq 0 ] || printf '| %s | DOES NOT COMPILE |\n' "${names[$1]}"
  return $status
}

# choose TEXT...: the numbers of the wanted faults, in `pending`.
choose() {
  local i
  pending=()
  for i in "${!names[@]}"; do
    if wanted "${names[$i]}" "$@"; then pending+=("$i"); fi
  done
}

# announce BUILD EACH: how long the wanted ones take on 2 cores: seconds of the first build, and of each fault.
announce() {
  local minutes=$((($1 + $2 * ${#pending[@]} + 59) / 60))
  say "${#pending[@]} faults: about $minutes minutes on 2 cores, of which the first build takes $(($1 / 60))"
}
