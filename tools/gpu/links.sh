# shellcheck shell=bash
# Latency and bandwidth between ranks, as penstock measures them for plans.

# links.N.shared: between N ranks that share the GPU. links.N.apart: each has a device of its own. Fails where NCCL
# carried nothing, or an edge has no figure.
check_links() {
  local apart=() seen=${CUDA_VISIBLE_DEVICES-}
  if lacks_nccl; then echo "$without_nccl"; return 77; fi
  if [ "$2" = apart ]; then
    [ "$(devices_here)" -ge "$1" ] || { echo "needs $1 devices, $(devices_here) here"; return 77; }
    apart=(--apart) seen=$every_device
  fi
  CUDA_VISIBLE_DEVICES=$seen within 60 "$root/tools/ranks" "${apart[@]}" "$1" \
    "$bin/penstock" bench --links --device "$kind" --json >"$work/links.json" || return
  cat "$work/links.json"
  [ "$kind" != cuda ] || [ "$(field measured <"$work/links.json")" = nccl ] || { echo "not measured over NCCL"; return 3; }
  tr '{' '\n' <"$work/links.json" | awk -v ways=$((2 * ($1 - 1))) '
    function number(key) { return match($0, "\"" key "\": ?[0-9.e+-]+") ? substr($0, RSTART + length(key) + 3, RLENGTH) + 0 : 0 }
    number("bytes_per_s") > 0 && number("latency_s") > 0 {
      text = text sprintf("%s%.1f µs %.2f GB/s", n++ ? ", " : "", 1e6 * number("latency_s"), 1e-9 * number("bytes_per_s"))
    }
    END {
      if (n != ways) { print n + 0 " ways have figures, not " ways; exit 3 }
      print text
    }'
}

# trace.N.SCHEDULE: a step in N stages that share the GPU, beside what is predicted of it from measured layers and
# links.
check_trace() {
  if lacks_nccl; then echo "$without_nccl"; return 77; fi
  make_tones && within 60 "$root/tools/ranks" "$1" "$bin/penstock" trace "$work/tones/recipe.toml" --steps 3 --json \
    trainer.device="$kind" pipeline.stages="$1" pipeline.schedule="$2" >"$work/trace.json" || return
  cat "$work/trace.json"
  [ "$kind" != cuda ] || [ "$(field links <"$work/trace.json")" = nccl ] || { echo "links not measured over NCCL"; return 3; }
  echo "$(field measured_s <"$work/trace.json") s a step, $(field calibrated_s <"$work/trace.json") calibrated in place"
}
