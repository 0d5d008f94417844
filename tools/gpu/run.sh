# shellcheck shell=bash
# Runs checks in their order, each within its budget.

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# within SECONDS COMMAND...: ends it then, or with the budget of the check, two seconds before which it is told to.
# Status 124 or 137 where it was ended.
within() {
  local limit=$1 left=$((ends - SECONDS - 2)) status
  shift
  if [ $left -lt $limit ]; then limit=$left; fi
  if [ $limit -le 0 ]; then
    echo "timed out: no time was left for $1"
    return 124
  fi
  timeout -k 2 $limit "$@"
  status=$?
  case $status in 124 | 137) echo "timed out: ended after $limit s: $(basename -a "${@:1:3}" | paste -sd' ')" >&2 ;; esac
  return $status
}

# run_all NAME...: tests of one row of budgets, which are of one program, run in one process.
run_all() {
  local name others pattern seconds how done_together=" "
  while [ $# -gt 0 ]; do
    name=$1
    shift
    read -r pattern seconds how <<<"$(budget_row "$name")"
    case $how in
      together)
        [[ $done_together != *" $pattern "* ]] || continue
        done_together+="$pattern "
        mapfile -t others < <(for other in "$name" "$@"; do
          [ "$(budget_row "$other")" != "$pattern $seconds $how" ] || echo "$other"
        done)
        ends=$((SECONDS + seconds))
        run_together "${others[@]}"
        ;;
      spare) run_spare "$name" "$seconds" "$@" ;;
      *) ends=$((SECONDS + seconds)) && run_one "$name" ;;
    esac
  done
}

# Tests that want several devices see them all, the chosen one first.
run_together() {
  case $1 in
    *Nccl* | */nccl)
      if lacks_nccl; then
        for name in "$@"; do report "$name" skipped 0 "$without_nccl"; done
        return
      fi
      ;;
  esac
  CUDA_VISIBLE_DEVICES=${every_device-} run_tests "$bin/cuda_tests" "$@"
}

# run_spare NAME SECONDS OTHER...: where enough time is left behind it for what else must run.
run_spare() {
  local name=$1 seconds=$2
  shift 2
  ends=$((SECONDS + seconds))
  if [ $((ends + $(sum_of_budgets "$@"))) -gt "$deadline" ]; then
    report "$name" skipped 0 "no time was left: it may take $seconds s"
    return
  fi
  run_one "$name"
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
