# shellcheck shell=bash
# What earlier results leave to be run: gpu_check --continue.

# by_need RESULTS NAME...: "NEED NAME" lines, the most needed first: never ran, failed and changed since, failed,
# skipped, changed since, done. Within a need the checks keep their order.
by_need() {
  local results=$1 name verdict commit need i=0
  local -A verdicts=() commits=()
  shift
  [ -r "$results" ] || { echo "gpu_check: $results can't be read: --continue takes the gpu_check.json of earlier runs" >&2; return 2; }
  while IFS=$'\t' read -r name verdict commit; do
    verdicts[$name]=$verdict commits[$name]=$commit
  done < <(sed -nE 's/.*"name": "([^"]*)", "verdict": "([^"]*)".*"commit": "([^"]*)".*/\1\t\2\t\3/p' "$results")
  for name; do
    case ${verdicts[$name]:-} in
      '') need="1 never ran" ;;
      failed) need="3 failed" ;;
      skipped | "too few") need="4 skipped" ;;
      *) need="6 done" ;;
    esac
    case $need in
      [36]*)
        if has_changed "$name" "${commits[$name]}"; then
          need=${need/3 failed/2 failed, changed since} need=${need/6 done/5 changed since}
        fi
        ;;
    esac
    printf '%s\t%06d\t%s\n' "$need" $((i += 1)) "$name"
  done | sort -t $'\t' -k1,1 -k2,2n | awk -F '\t' '{ print substr($1, 3) "\t" $3 }'
}

declare -A changed=() # "COMMIT PATHS" that were looked at: yes or no

# has_changed NAME COMMIT: whether what the check depends on differs from that commit. It does where nobody knows.
has_changed() {
  local pattern paths key commit=${2%+}
  if [ -e "$root/changed" ]; then
    grep -qxF "$1" "$root/changed"
    return
  fi
  while read -r pattern paths; do
    # shellcheck disable=SC2053  # the pattern is one
    case $pattern in '' | '#'*) ;; *) [[ $1 != $pattern ]] || break ;; esac
  done <"$root/tools/gpu/sources"
  key="$commit $paths"
  if [ -z "${changed[$key]:-}" ]; then
    read -r -a paths <<<"$paths"
    if git -C "$root" diff --quiet "$commit" -- "${paths[@]}" 2>/dev/null; then changed[$key]=no; else changed[$key]=yes; fi
  fi
  [ "${changed[$key]}" = yes ]
}

# keep_needs FOLDER: for a pack, which has no history: its commit, the results so far, and which of them are changed since.
keep_needs() {
  local names
  (bin="" && commit_here) >"$1/commit"
  mkdir -p "$1/docs"
  cp "$root/docs/gpu_check.json" "$1/docs/" 2>/dev/null || { echo '{"checks": []}' >"$1/docs/gpu_check.json"; }
  mapfile -t names < <(list | awk '{print $1}')
  by_need "$1/docs/gpu_check.json" "${names[@]}" | awk -F '\t' '$1 ~ /changed since/ { print $2 }' >"$1/changed"
}
