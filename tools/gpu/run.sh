# shellcheck shell=bash
# Runs checks in their order, each within its budget.

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# within SECONDS COMMAND...: ends it then, or two seconds before the check's own seconds are over. Status 124 or 137
# where it was ended; then it has said what each of its processes was doing.
within() {
  local limit=$1 left=$((ends - SECONDS - 2)) status process said
  shift
  if [ $left -lt "$limit" ]; then limit=$left; fi
  if [ "$limit" -le 0 ]; then
    echo "timed out: no time was left for $1"
    return 124
  fi
  said=$(mktemp "$work/stacks-XXXXXX")
  timeout -k 2 "$limit" "$@" &
  process=$!
  watch_for_end $process $((limit > 6 ? limit - 3 : limit / 2)) >"$said" 2>&1 &
  wait $process
  status=$?
  case $status in
    124 | 137)
      cat "$said" >&2
      echo "timed out: ended after $limit s: $(basename -a "${@:1:3}" | paste -sd' ')" >&2
      ;;
  esac
  return $status
}

# watch_for_end PID SECONDS: says its processes' stacks where it is still there then.
watch_for_end() {
  local until=$((SECONDS + $2))
  while kill -0 "$1" 2>/dev/null; do
    [ $SECONDS -lt $until ] || { say_stacks "$1"; return; }
    sleep 0.2
  done
}

# run_all NAME...: as far as time goes. Neighbours of one group run together. Before what needs it, the step over NCCL.
run_all() {
  local together stepped=""
  load_budgets nccl.2.step "$@" || return
  while [ $# -gt 0 ]; do
    if over_nccl "$1" && [ -z "$stepped" ]; then set -- nccl.2.step "$@"; fi
    together=("$1")
    shift
    if [ "${together[0]}" = nccl.2.step ]; then
      [ -z "$stepped" ] || continue
      stepped=yes
    fi
    while [ $# -gt 0 ] && in_group "$1" && [ "${group_of[$1]}" = "${group_of[${together[0]}]}" ]; do
      together+=("$1")
      shift
    done
    run_batch "${together[@]}"
  done
}

# run_batch NAME...: one check, or some of one group, of which those run that time allows.
run_batch() {
  local name wanted
  wanted=$(budget_of "$@")
  if in_group "$1" && [ $((deadline - SECONDS)) -ge $((2 * start_seconds)) ] && [ $((SECONDS + wanted)) -gt "$deadline" ]; then
    wanted=$((deadline - SECONDS))
  fi
  ends=$((SECONDS + wanted))
  if [ $ends -gt "$deadline" ]; then
    for name; do report "$name" skipped 0 "no time was left: it may take ${seconds_of[$name]} s; --continue runs it"; done
  elif in_group "$1"; then
    run_group "${group_of[$1]}" "$@"
  else
    run_one "$1"
  fi
}

# over_nccl NAME: whether it needs a step over NCCL to end.
over_nccl() {
  case $1 in Nccl.* | stages.* | replicas.* | recompute.* | postvalidation.* | links.* | trace.* | Cuda*Nccl* | Cuda*/nccl) ;; *) return 1 ;; esac
}

# file_of NAME: where the folder keeps what a check says.
file_of() { echo "$folder/checks/${1//\//_}.txt"; }

# run_one NAME: the function named as the check's first word, with the others as arguments. What it
# prints last is its figure; its status is 0, 77 if it could not run here, or else. Into a file, not a
# pipe, which a process that can't be ended would hold open.
run_one() {
  local status started verdict words file figure
  IFS=. read -r -a words <<<"$1"
  started=$(milliseconds)
  file=$(file_of "$1")
  "check_${words[0]}" "${words[@]:1}" >"$file" 2>&1
  status=$?
  case $status in
    0) verdict=passed ;;
    77) verdict=skipped ;;
    *) verdict=failed ;;
  esac
  figure=$(tail -n 1 "$file")
  if [ $verdict = failed ]; then figure=$(grep -m 1 '^timed out' "$file" || echo "$figure"); fi
  report "$1" "$verdict" $(($(milliseconds) - started)) "$figure"
  [ "$verdict" != failed ] || detail "$file"
}
