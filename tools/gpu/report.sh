# shellcheck shell=bash
# A row for each check, on standard output as it ends and in a JSON file.

begin_report() {
  json=$1 passed=0 failed=0 skipped=0
  device=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)
  printf '%s, %s\n' "${device:-a GPU that nvidia-smi does not name}" "$(date +%F)"
  printf '{"device": "%s", "date": "%s", "checks": [' "$device" "$(date +%F)" >"$json"
}

# report NAME VERDICT MILLISECONDS [FIGURE]: VERDICT is passed, failed or skipped.
report() {
  local figure=${4:-}
  printf '%-72s %-8s %7d ms  %s\n' "$1" "$2" "$3" "$figure"
  [ $((passed + failed + skipped)) = 0 ] || printf ',' >>"$json"
  printf '\n  {"name": "%s", "verdict": "%s", "ms": %d, "figure": "%s"}' \
    "$1" "$2" "$3" "$(sed 's/[\\"]/ /g' <<<"$figure" | tr -d '\n\t')" >>"$json"
  case $2 in
    passed) passed=$((passed + 1)) ;;
    failed) failed=$((failed + 1)) ;;
    *) skipped=$((skipped + 1)) ;;
  esac
}

# detail TEXT: the end of what a failed check said.
detail() { tail -n 12 <<<"$1" | sed 's/^/    /'; }

end_report() {
  printf '\n], "passed": %d, "failed": %d, "skipped": %d}\n' "$passed" "$failed" "$skipped" >>"$json"
  echo "$passed passed, $failed failed, $skipped skipped in $SECONDS s; $json"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
