# shellcheck shell=bash
# Tests of a GoogleTest program, many in one process: each start of CUDA takes seconds.

# run_tests PROGRAM NAME...: goes on behind a test that ends the process or hangs.
run_tests() {
  local program=$1 name left
  shift
  local -A verdicts=()
  while :; do
    left=()
    for name in "$@"; do [ -n "${verdicts[$name]:-}" ] || left+=("$name"); done
    [ ${#left[@]} -gt 0 ] || return
    run_process "$program" "${left[@]}"
    if [ ${#verdicts[@]} -lt $# ] && [ -z "$ended_in" ]; then
      for name in "${left[@]}"; do
        [ -n "${verdicts[$name]:-}" ] || verdict_of "$name" failed 0 "was not run"
      done
    fi
  done
}

verdict_of() {
  verdicts[$1]=$2
  report "$@"
}

# Reads a process's verdicts; `ended_in` is the test that it ended in.
run_process() {
  local line said="" out ms
  ended_in=""
  exec {out}< <(exec timeout -k 5 $((deadline > SECONDS ? deadline - SECONDS : 1)) \
    "$1" --gtest_filter="$(IFS=:; shift; echo "$*")" 2>&1)
  local process=$!
  while read -r -t 60 -u "$out" line; do
    ms=$(sed -nE 's/.*\(([0-9]+) ms\)$/\1/p' <<<"$line")
    case $line in
      "[ RUN "*) ended_in=${line#*] } said="" ;;
      "[       OK ] $ended_in"*) verdict_of "$ended_in" passed "${ms:-0}"; ended_in="" ;;
      "[  SKIPPED ] ${ended_in:-?}"*) verdict_of "$ended_in" skipped "${ms:-0}" "${said##*$'\n'}"; ended_in="" ;;
      "[  FAILED  ] ${ended_in:-?}"*) verdict_of "$ended_in" failed "${ms:-0}"; detail "$said"; ended_in="" ;;
      *) said+=${said:+$'\n'}$line ;;
    esac
  done
  kill "$process" 2>/dev/null
  exec {out}<&-
  [ -z "$ended_in" ] || { verdict_of "$ended_in" failed 0 "the process ended or hung"; detail "$said"; }
}

# Nccl.TEST.N_rank[s]
check_Nccl() { within 60 "$root/tools/ranks" "${2%_rank*}" "$bin/nccl_tests" --gtest_filter="Nccl.$1"; }
