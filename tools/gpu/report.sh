# shellcheck shell=bash
# A row for each check, on standard output as it ends and in a JSON file, and a folder that holds the rest:
# gpu_check.json, checks/ (all that each said), facts/ (of the machine), metrics/ (of each training).

# begin_report FOLDER: what follows runs at `commit` on `device` with `driver`, which name_device sets.
begin_report() {
  folder=$1 json=$1/gpu_check.json passed=0 failed=0 skipped=0 too_few=0 timed_out=0 began=$SECONDS
  mkdir -p "$folder"/{checks,facts,metrics} || return
  name_device
  commit=$(commit_here)
  printf '%s%s, %s, commit %s\n' "$device" "${driver:+, driver $driver}" "$(date +%F)" "$commit"
  printf '{"checks": [' >"$json"
}

# commit_here: the commit that the programs are of, with "+" where sources were changed since. A pack keeps it in a file.
commit_here() {
  local pack
  for pack in "${bin:-/nowhere}/.." "$root" "$root/.packed"; do
    [ ! -s "$pack/commit" ] || { cat "$pack/commit"; return; }
  done
  if git -C "$root" rev-parse --short=12 HEAD 2>/dev/null; then
    git -C "$root" diff --quiet HEAD -- 2>/dev/null || echo +
  else
    echo unknown
  fi | tr -d '\n'
}

# report NAME VERDICT MILLISECONDS [FIGURE]: VERDICT is passed, failed or skipped. What is skipped for want of more
# devices ("needs 4 devices, 1 here") is counted apart, as "too few": no other machine of this kind will show it.
report() {
  local verdict=$2 figure=${4:-}
  if [ "$verdict" = skipped ] && [[ $figure =~ ^needs\ [0-9]+\ devices,\ [0-9]+\ here ]]; then verdict="too few"; fi
  printf '%-72s %-8s %7d ms  %s\n' "$1" "$verdict" "$3" "$figure"
  [ $((passed + failed + skipped + too_few)) = 0 ] || printf ',' >>"$json"
  printf '\n  {"name": "%s", "verdict": "%s", "ms": %d, "date": "%s", "commit": "%s", "device": "%s", "driver": "%s", "figure": "%s"}' \
    "$1" "$verdict" "$3" "$(date +%F)" "$commit" "$device" "$driver" "$(sed 's/[\\"]/ /g' <<<"$figure" | tr -d '\n\t\r\033')" >>"$json"
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

# end_report [EARLIER]: where the run went on with results of EARLIER, the file then holds those as well.
end_report() {
  printf '\n]}\n' >>"$json"
  if [ -n "${1:-}" ]; then merge_results "$1" "$json" >"$work/merged.json" && cp "$work/merged.json" "$json"; fi
  keep_metrics
  echo "$passed passed, $failed failed ($timed_out timed out), $skipped skipped, $too_few for more devices than are" \
    "here, in $((SECONDS - began)) s; all of it: $folder"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# merge_results FILE...: the checks of all of these, later files' verdicts in place of earlier ones' but for checks that
# did not run then: what passed or failed before stays. A run that was cut off leaves a file that can still be read.
merge_results() {
  cat "$@" | awk '
    match($0, /"name": "[^"]*"/) {
      name = substr($0, RSTART + 9, RLENGTH - 10)
      sub(/,? *$/, "")
      ran = /"verdict": "(passed|failed)"/
      if (!(name in row)) order[++count] = name
      if (ran || !has_run[name]) row[name] = $0
      has_run[name] = has_run[name] || ran
    }
    END {
      printf "{\"checks\": ["
      for (i = 1; i <= count; ++i) printf "%s\n%s", (i > 1 ? "," : ""), row[order[i]]
      print "\n]}"
    }'
}
