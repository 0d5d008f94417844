# shellcheck shell=bash
# A row for each check, on standard output as it ends and in a JSON file, and a folder that holds the rest:
# gpu_check.json, checks/ (all that each said), facts/ (of the machine), metrics/ (of each training).

begin_report() {
  folder=$1 json=$1/gpu_check.json passed=0 failed=0 skipped=0 too_few=0 timed_out=0
  mkdir -p "$folder"/{checks,facts,metrics} || return
  name_device
  printf '%s, %s\n' "$device" "$(date +%F)"
  printf '{"device": "%s", "date": "%s", "checks": [' "$device" "$(date +%F)" >"$json"
}

# report NAME VERDICT MILLISECONDS [FIGURE]: VERDICT is passed, failed or skipped. What is skipped for want of more
# devices ("needs 4 devices, 1 here") is counted apart, as "too few": no other machine of this kind will show it.
report() {
  local verdict=$2 figure=${4:-}
  if [ "$verdict" = skipped ] && [[ $figure =~ ^needs\ [0-9]+\ devices,\ [0-9]+\ here ]]; then verdict="too few"; fi
  printf '%-72s %-8s %7d ms  %s\n' "$1" "$verdict" "$3" "$figure"
  [ $((passed + failed + skipped + too_few)) = 0 ] || printf ',' >>"$json"
  printf '\n  {"name": "%s", "verdict": "%s", "ms": %d, "figure": "%s"}' \
    "$1" "$verdict" "$3" "$(sed 's/[\\"]/ /g' <<<"$figure" | tr -d '\n\t\r\033')" >>"$json"
  case $verdict in
    passed) passed=$((passed + 1)) ;;
    failed) failed=$((failed + 1)) ;;
    "too few") too_few=$((too_few + 1)) ;;
    *) skipped=$((skipped + 1)) ;;
  esac
  case $figure in 'timed out'*) timed_out=$((timed_out + 1)) ;; esac
}

# detail FILE: the end of what a failed check said, all of which the folder keeps.
detail() { tail -n 12 "$1" | sed 's/^/    /'; }

# Metrics of trainings lie among checkpoints, which nobody needs.
keep_metrics() {
  local file
  for file in "$work"/*/metrics.jsonl "$work"/*/log; do
    [ ! -e "$file" ] || cp "$file" "$folder/metrics/$(basename "$(dirname "$file")")-$(basename "$file")"
  done
}

end_report() {
  printf '\n], "passed": %d, "failed": %d, "skipped": %d, "too_few_devices": %d, "timed_out": %d}\n' \
    "$passed" "$failed" "$skipped" "$too_few" "$timed_out" >>"$json"
  keep_metrics
  echo "$passed passed, $failed failed ($timed_out timed out), $skipped skipped, $too_few for more devices than are" \
    "here, in $SECONDS s; all of it: $folder"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
