# shellcheck shell=bash
# The table tools/gpu/budgets: seconds, part and group of each check.

# Seconds of a command on a machine that lends no more than ten minutes; what of them no check takes: finding
# programs and a device, writing the report; and what a process or a group of ranks takes to start.
most_seconds=540 own_seconds=15 start_seconds=10

declare -A seconds_of=() part_of=() group_of=()

# load_budgets NAME...: fills the three tables, of which `group_of` has "", "spare" or a group.
load_budgets() {
  local name i pattern seconds part group patterns=() rows=()
  while read -r pattern seconds part group; do
    patterns+=("$pattern") rows+=("$seconds $part $group")
  done < <(grep -vE '^(#|$)' "$root/tools/gpu/budgets")
  for name; do
    for ((i = 0; i < ${#patterns[@]}; ++i)); do
      # shellcheck disable=SC2053  # the pattern is one
      [[ $name != ${patterns[i]} ]] || break
    done
    [ $i -lt ${#patterns[@]} ] || { echo "gpu_check: no row of tools/gpu/budgets fits $name" >&2; return 1; }
    read -r seconds part group <<<"${rows[i]}"
    seconds_of[$name]=$seconds part_of[$name]=$part group_of[$name]=$group
  done
}

in_group() { case ${group_of[$1]} in '' | spare) return 1 ;; esac; }

# budget_of NAME...: whole seconds that these take one after the other where all of them hang.
budget_of() {
  for name; do echo "${seconds_of[$name]} ${group_of[$name]:--}"; done |
    awk -v start=$start_seconds '
      { sum += $1; if ($2 != "-" && $2 != "spare" && $2 != last) sum += start; last = $2 }
      END { printf "%d\n", sum + 0.999 }'
}

# say_budget NAME...: for each part what its checks take at most, without spare ones. Exit code 1 where that is too long.
say_budget() {
  local part name names spare sum status=0
  load_budgets "$@" || return
  for part in 1 2 3; do
    names=() spare=()
    for name; do
      [ "${part_of[$name]}" = $part ] || continue
      if [ "${group_of[$name]}" = spare ]; then spare+=("$name"); else names+=("$name"); fi
    done
    sum=$(($(budget_of "${names[@]}") + own_seconds))
    echo "part $part: ${#names[@]} checks in at most $sum of $most_seconds s, whatever hangs, and ${#spare[@]} in time" \
      "that is left, at most $(budget_of "${spare[@]}") s"
    [ $sum -le $most_seconds ] || status=1
  done
  return $status
}
