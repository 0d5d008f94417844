# shellcheck shell=bash
# Runs checks in their order, each within its time and all before the deadline.

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# within SECONDS COMMAND...: ends it then, or at the deadline.
within() {
  local limit=$1 left=$((deadline - SECONDS))
  shift
  timeout -k 5 $((left < limit ? (left > 1 ? left : 1) : limit)) "$@"
}

# Those of one program come in one row of the list and run in one process.
run_all() {
  local name of_cuda=()
  for name in "$@"; do
    case $name in Cuda*) of_cuda+=("$name") ;; esac
  done
  [ ${#of_cuda[@]} -eq 0 ] || run_tests "$bin/cuda_tests" "${of_cuda[@]}"
  for name in "$@"; do
    case $name in Cuda*) ;; *) run_one "$name" ;; esac
  done
}

# run_one NAME: the function named as the check's first word, with the others as arguments. What it
# prints last is its figure; its status is 0, 77 if it could not run here, or else.
run_one() {
  local output status started verdict words
  if [ $SECONDS -ge "$deadline" ]; then
    report "$1" skipped 0 "no time was left"
    return
  fi
  IFS=. read -r -a words <<<"$1"
  started=$(milliseconds)
  output=$("check_${words[0]}" "${words[@]:1}" 2>&1)
  status=$?
  case $status in
    0) verdict=passed ;;
    77) verdict=skipped ;;
    *) verdict=failed ;;
  esac
  report "$1" "$verdict" $(($(milliseconds) - started)) "$([ "$status" -eq 1 ] || tail -n 1 <<<"$output")"
  [ "$verdict" != failed ] || detail "$output"
}
