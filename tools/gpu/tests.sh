# shellcheck shell=bash
# Tests of GoogleTest programs, many in one process or one group of ranks: each start takes seconds.

# A test that says nothing for so long hangs; the others take a second or two.
longest_test=15

# test_of CHECK: the test that the check is.
test_of() {
  local words
  case $1 in
    Nccl.*) echo "${1%.*}" ;;
    stages.* | replicas.* | recompute.* | postvalidation.*)
      IFS=. read -r -a words <<<"$1"
      echo "Nccl/NcclSchedules.EqualOneRank/${words[0]}_${words[2]//-/_}"
      ;;
    *) echo "$1" ;;
  esac
}

# run_group GROUP CHECK...: in the group's program. Tests that want several devices see them all, the chosen one first.
run_group() {
  local name
  if over_nccl "$2" && lacks_nccl; then
    for name in "${@:2}"; do report "$name" skipped 0 "$without_nccl"; done
    return
  fi
  case $1 in
    *_rank | *_ranks)
      longest_test=40 run_tests "$root/tools/ranks ${1%_rank*} $bin/nccl_tests" "${@:2}"
      ;;
    *) CUDA_VISIBLE_DEVICES=${every_device-} run_tests "$bin/cuda_tests" "${@:2}" ;;
  esac
}

# run_tests COMMAND CHECK...: goes on in a new process after a test that hangs or ends its own, as one does that
# leaves the device in error. COMMAND is words without spaces in them.
run_tests() {
  local command name left count process_number=0
  local -A verdicts=() check_of=()
  read -r -a command <<<"$1"
  shift
  for name; do check_of[$(test_of "$name")]=$name; done
  while :; do
    left=()
    for name; do [ -n "${verdicts[$name]:-}" ] || left+=("$name"); done
    [ ${#left[@]} -gt 0 ] || return 0
    if [ $((ends - SECONDS)) -le 3 ]; then
      for name in "${left[@]}"; do verdict_of "$name" skipped 0 "no time was left"; done
      return 0
    fi
    count=${#verdicts[@]}
    run_process "${left[@]}"
    if [ ${#verdicts[@]} = "$count" ]; then
      for name in "${left[@]}"; do verdict_of "$name" failed 0 "was not run: the program ends before it"; done
    fi
  done
}

verdict_of() {
  verdicts[$1]=$2
  report "$@"
}

# detail of a check, all of which the folder keeps.
failure_of() {
  printf '%s\n' "$2" >"$(file_of "$1")"
  detail "$(file_of "$1")"
}

# figure_of SAID: what a test says of itself, "figure: 20 losses equal".
figure_of() { sed -n 's/^figure: //p' <<<"$1" | tail -n 1; }

# run_process CHECK...: reads the verdicts of one process, or of rank 0 of several; `ended_in` is the test that it
# ended in.
run_process() {
  local line said="" out ms ended_in="" check wait why="the process ended in it" rest=$((ends - SECONDS - 3)) log name
  local filter=""
  for name; do filter+=:$(test_of "$name"); done
  process_number=$((process_number + 1))
  log=$folder/checks/$(basename "${command[-1]}")-${1//[\/*]/_}-$process_number.txt
  exec {out}< <(exec timeout -k 2 $((rest > 0 ? rest : 1)) "${command[@]}" --gtest_filter="${filter#:}" 2>&1)
  local process=$!
  while :; do
    wait=$longest_test
    if [ $((ends - SECONDS - 4)) -lt $wait ]; then wait=$((ends - 4 > SECONDS ? ends - 4 - SECONDS : 1)); fi
    IFS= read -r -t $wait -u "$out" line
    case $? in
      0) ;;
      1)
        [ $SECONDS -lt $((ends - 3)) ] || why="timed out: the seconds of its row were over"
        break
        ;;
      *)
        why="timed out: it said nothing for $wait s"
        said+=${said:+$'\n'}$(say_stacks "$process" 2>&1)
        break
        ;;
    esac
    printf '%s\n' "$line" >>"$log"
    ms=0
    if [[ $line =~ \(([0-9]+)\ ms\)$ ]]; then ms=${BASH_REMATCH[1]}; fi
    check=${check_of[${ended_in:--}]:-$ended_in}
    case $line in
      "[ RUN "*) ended_in=${line#*] } said="" ;;
      "[       OK ] ${ended_in:-?}"*) verdict_of "$check" passed "$ms" "$(figure_of "$said")"; ended_in="" ;;
      "[  SKIPPED ] ${ended_in:-?}"*) verdict_of "$check" skipped "$ms" "${said##*$'\n'}"; ended_in="" ;;
      "[  FAILED  ] ${ended_in:-?}"*)
        verdict_of "$check" failed "$ms" "$(grep -o 'the device is in error ([^)]*)' <<<"$said")"
        failure_of "$check" "$said"
        ended_in=""
        ;;
      *) said+=${said:+$'\n'}$line ;;
    esac
  done
  kill "$process" 2>/dev/null
  exec {out}<&-
  if [ -n "$ended_in" ]; then
    check=${check_of[$ended_in]:-$ended_in}
    verdict_of "$check" failed 0 "$why"
    failure_of "$check" "$said"
  fi
}

# sanitizer.TOOL: NVIDIA's compute-sanitizer over every operation, of our kernels: those of NVIDIA's libraries take
# minutes.
check_sanitizer() {
  local sanitizer status
  sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer) ||
    { echo "no compute-sanitizer here"; return 77; }
  # f*16 is f16 and fp16
  # cuDNN asks the driver for kernels that it lacks, and goes on.
  within 60 "$sanitizer" --tool "$1" --report-api-errors no --kernel-name kns=penstock --error-exitcode 9 "$bin/cuda_tests" \
    --gtest_filter='Cuda/*/f*16' >"$work/sanitizer.log"
  status=$?
  cat "$work/sanitizer.log"
  [ $status = 0 ] || return $status
  grep -q '^\[       OK \]' "$work/sanitizer.log" || { echo "no test ran"; return 3; }
  echo "clean"
}
