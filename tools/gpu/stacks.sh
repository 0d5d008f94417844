# shellcheck shell=bash
# What processes that are about to be ended are doing, so that a slow run and a deadlock can be told apart.

# descendants PID: it and all that it has started, a line each.
descendants() {
  cat /proc/[0-9]*/stat 2>/dev/null | awk -v first="$1" '
    { pid = $1; sub(/^.*[)] /, ""); split($0, field, " "); parent[pid] = field[2] }
    END {
      for (pid in parent)
        for (up = pid; up != "" && up != 0; up = parent[up]) if (up == first) { print pid; break }
    }' | sort -n
}

# ticks PID: hundredths of a second that it has computed.
ticks() { awk '{ sub(/^.*[)] /, ""); print $12 + $13 }' "/proc/$1/stat" 2>/dev/null; }

# say_stacks PID: of each process below it whether it computes or waits, and the stacks of its threads: by gdb or
# eu-stack where one is here and may look, else the kernel's word for what each thread waits for.
say_stacks() {
  local pid pids=() before=() i used name
  for pid in $(descendants "$1"); do
    name=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
    case $name in bash | sh | timeout | ranks | sleep | env | mpirun) continue ;; esac
    pids+=("$pid") before+=("$(ticks "$pid")")
  done
  sleep 0.5
  for i in "${!pids[@]}"; do
    pid=${pids[i]}
    used=$(($(ticks "$pid" || echo "${before[i]}") - before[i]))
    echo "process $pid, $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | cut -c1-120): $(rank_of "$pid")" \
      "$([ $used -ge 5 ] && echo "computes or spins" || echo "waits"), ${used}0 ms of CPU time in 500 ms"
    stacks_of "$pid" | head -n 200
  done
}

rank_of() { tr '\0' '\n' <"/proc/$1/environ" 2>/dev/null | sed -nE 's/^(PENSTOCK_RANK|OMPI_COMM_WORLD_RANK)=(.*)/rank \2/p' | head -n 1; }

stacks_of() {
  local said thread
  for tool in "gdb -p $1 -batch -nx -ex thread\\ apply\\ all\\ backtrace\\ 16" "eu-stack -n 16 -p $1"; do
    command -v "${tool%% *}" >/dev/null || continue
    said=$(eval "timeout -k 1 8 $tool" 2>/dev/null | grep -E '^(#|Thread|TID)')
    [ -z "$said" ] || { echo "$said"; return; }
  done
  for thread in "/proc/$1/task"/*; do
    echo "  thread ${thread##*/} ($(cat "$thread/comm")): $(awk '/^State/ { print $2, $3 }' "$thread/status"), in" \
      "$(cat "$thread/wchan" 2>/dev/null | grep . || echo "?")"
  done 2>/dev/null
}
