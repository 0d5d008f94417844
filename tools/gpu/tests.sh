# shellcheck shell=bash
# Tests of a GoogleTest program, many in one process: each start of CUDA takes seconds.

# A test that says nothing for so long hangs; the others take a second or two.
longest_test=15

# run_tests PROGRAM NAME...: goes on in a new process behind a test that hangs or ends its own, as one does that
# leaves the device in error.
run_tests() {
  local program=$1 name left count process_number=0
  shift
  local -A verdicts=()
  while :; do
    left=()
    for name in "$@"; do [ -n "${verdicts[$name]:-}" ] || left+=("$name"); done
    [ ${#left[@]} -gt 0 ] || return 0
    if [ $((ends - SECONDS)) -le 3 ]; then
      for name in "${left[@]}"; do verdict_of "$name" skipped 0 "no time was left"; done
      return 0
    fi
    count=${#verdicts[@]}
    run_process "$program" "${left[@]}"
    if [ ${#verdicts[@]} = "$count" ]; then
      for name in "${left[@]}"; do verdict_of "$name" failed 0 "was not run: the program ends before it"; done
    fi
  done
}

verdict_of() {
  verdicts[$1]=$2
  report "$@"
}

# detail of a test, all of which the folder keeps.
failure_of() {
  printf '%s\n' "$2" >"$(file_of "$1")"
  detail "$(file_of "$1")"
}

# Reads a process's verdicts; `ended_in` is the test that it ended in.
run_process() {
  local line said="" out ms ended_in="" wait why="the process ended in it" rest=$((ends - SECONDS - 3))
  local log
  process_number=$((process_number + 1))
  log=$folder/checks/$(basename "$1")-${2//[\/*]/_}-$process_number.txt
  exec {out}< <(exec timeout -k 2 $((rest > 0 ? rest : 1)) \
    "$1" --gtest_filter="$(IFS=:; shift; echo "$*")" 2>&1)
  local process=$!
  while :; do
    wait=$longest_test
    if [ $((ends - SECONDS)) -lt $wait ]; then wait=$((ends > SECONDS ? ends - SECONDS : 1)); fi
    IFS= read -r -t $wait -u "$out" line
    case $? in
      0) ;;
      1)
        [ $SECONDS -lt $((ends - 3)) ] || why="timed out: the seconds of its row were over"
        break
        ;;
      *) why="timed out: it said nothing for $wait s"; break ;;
    esac
    printf '%s\n' "$line" >>"$log"
    ms=0
    if [[ $line =~ \(([0-9]+)\ ms\)$ ]]; then ms=${BASH_REMATCH[1]}; fi
    case $line in
      "[ RUN "*) ended_in=${line#*] } said="" ;;
      "[       OK ] $ended_in"*) verdict_of "$ended_in" passed "$ms"; ended_in="" ;;
      "[  SKIPPED ] ${ended_in:-?}"*) verdict_of "$ended_in" skipped "$ms" "${said##*$'\n'}"; ended_in="" ;;
      "[  FAILED  ] ${ended_in:-?}"*)
        verdict_of "$ended_in" failed "$ms" "$(grep -o 'the device is in error ([^)]*)' <<<"$said")"
        failure_of "$ended_in" "$said"
        ended_in=""
        ;;
      *) said+=${said:+$'\n'}$line ;;
    esac
  done
  kill "$process" 2>/dev/null
  exec {out}<&-
  [ -z "$ended_in" ] || { verdict_of "$ended_in" failed 0 "$why"; failure_of "$ended_in" "$said"; }
}

# Nccl.TEST.N_rank[s]: passes where every rank ran it.
check_Nccl() {
  if lacks_nccl; then echo "$without_nccl"; return 77; fi
  within 60 "$root/tools/ranks" "${2%_rank*}" "$bin/nccl_tests" --gtest_filter="Nccl.$1" \
    >"$work/nccl.txt" 2>&1 || { cat "$work/nccl.txt"; return 1; }
  cat "$work/nccl.txt"
  [ "$(grep -c "^\[       OK \] Nccl.$1 " "$work/nccl.txt")" = "${2%_rank*}" ] || {
    # Ranks write between each other's lines: the reason is the last line of no [TAG] before the first that says so.
    echo "not run by every rank: $(awk '/^\[  SKIPPED/ { print said; exit } !/^\[/ { said = $0 }' "$work/nccl.txt")"
    return 77
  }
  echo "${2//_/ }"
}
