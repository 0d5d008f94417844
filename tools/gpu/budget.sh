# shellcheck shell=bash
# What checks may take: tools/gpu/budgets.

# Of the whole run, and of it what no check takes: finding programs and a device, writing the report.
most_seconds=540
own_seconds=15

# budget_row NAME: "PATTERN SECONDS [together | spare]".
budget_row() {
  local pattern seconds how
  while read -r pattern seconds how; do
    case $pattern in '' | '#'*) continue ;; esac
    # shellcheck disable=SC2053  # the pattern is one
    if [[ $1 == $pattern ]]; then
      echo "$pattern $seconds $how"
      return
    fi
  done <"$root/tools/gpu/budgets"
  echo "gpu_check: no row of tools/gpu/budgets fits $1" >&2
  return 1
}

# sum_of_budgets NAME...: seconds that these take where every one of them hangs. "together" counts once; "spare"
# runs in what others leave.
sum_of_budgets() {
  local name rows=""
  for name in "$@"; do rows+="$(budget_row "$name")"$'\n' || return; done
  awk '
    $3 == "spare" || ($3 == "together" && seen[$1]++) { next }
    { sum += $2 }
    END { print sum + 0 }' <<<"$rows"
}

# say_budget NAME...: a line for each row in use, and the sum. Exit code 1 where it is too long.
say_budget() {
  local sum name
  sum=$(sum_of_budgets "$@") || return
  for name in "$@"; do budget_row "$name"; done | sort | uniq -c | awk '{
    printf "%-28s %3d checks, %3d s %s\n", $2, $1, $3, $4 == "" ? "each" : $4 }'
  echo "at most $((sum + own_seconds)) of $most_seconds s, whatever hangs"
  [ $((sum + own_seconds)) -le $most_seconds ]
}
