# shellcheck shell=bash
# Speed and memory of whole steps, beside PyTorch's where torch_bench.py is given and PyTorch is here.

# field NAME: the number of that name in the JSON object on standard input.
field() { sed -nE "s/.*\"$1\": ?\"?([^,\"}]*).*/\1/p" | tail -n 1; }

# with_memory COMMAND...: then memory() says how many MiB of the GPU were in use at most.
with_memory() {
  watch_memory >"$work/memory" 2>/dev/null &
  local watch=$! status
  "$@"
  status=$?
  kill $watch
  return $status
}
watch_memory() {
  while sleep 0.2; do nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits; done
}
memory() { sort -n "$work/memory" | tail -n 1; }

has_torch() {
  [ -n "$torch" ] && { [ -e "$work/torch" ] || { python3 -c 'import torch' 2>/dev/null && touch "$work/torch"; }; }
}

# best SIDE MODEL PRECISION BATCH...: audio seconds a second of the fastest batch that fits, and the
# operations a second that penstock counts in it. A batch may take `limit` seconds, 60 unless it is set.
best() {
  local side=$1 model=$2 precision=$3 batch command
  shift 3
  for batch in "$@"; do
    case $side in
      penstock) command=("$bin/penstock" bench) ;;
      pytorch) command=(python3 "$torch") ;;
      compiled) command=(python3 "$torch" --compile) ;;
      transformers) command=(python3 "$transformers") ;;
    esac
    within "${limit:-60}" "${command[@]}" "$model" --device "$kind" --precision "$precision" --batch "$batch" \
      --seconds 8 --json >"$work/timed" && echo "$(field audio_s_per_s <"$work/timed") $(field flops_per_s <"$work/timed")"
  done | sort -n | tail -n 1
}

# peak PRECISION: what the GPU can do at most, in 10^12 operations a second, by its maker's data sheet
# (dense, without TF32); nothing for one that is not in this list.
peak() {
  awk -v gpu="$device" -v half="$([ "$1" = fp32 ] || echo 1)" 'BEGIN {
    split("H200 989 67 H100 989 67 A100 312 19.5 L40S 362 92 L4 121 30", table, " ")
    for (i = 1; i in table; i += 3)
      if (index(gpu, table[i])) { print half ? table[i + 1] : table[i + 2]; exit } }'
}

# bench.MODEL.PRECISION.BATCH: "batch-8", "fastest" or "compiled" (PyTorch's compiler, at batch 8).
# Fails where penstock is less than 1.3 times as fast as PyTorch, takes more memory at batch 8 than
# eager PyTorch, or trains ds2-large in fp16 less than 3.6 times as fast as in fp32.
check_bench() {
  local model=$1 precision=$2 side=pytorch batches=(8) ours flops memory theirs="" their_memory=""
  [ "$3" != fastest ] || batches=(32 128)
  if [ "$3" = compiled ]; then
    has_torch || { echo "no PyTorch here, or no --torch"; return 77; }
    side=compiled
  fi
  read -r ours flops <<<"$(with_memory best penstock "$model" "$precision" "${batches[@]}")"
  [ -n "$ours" ] || return 1
  memory=$(memory)
  echo "$ours" >"$work/$model-$precision-$3"
  if has_torch; then
    read -r theirs _ <<<"$(with_memory best $side "$model" "$precision" "${batches[@]}")"
    their_memory=$(memory)
  fi
  awk -v ours="$ours" -v theirs="$theirs" -v flops="$flops" -v peak="$(peak "$precision")" \
    -v memory="$memory" -v their_memory="$their_memory" -v compare_memory="$([ "$3" != batch-8 ] || echo 1)" \
    -v fp32="$(cat "$work/$model-fp32-$3" 2>/dev/null)" -v wants_gain="$([ "$model.$precision" != ds2-large.fp16 ] || echo 1)" '
    BEGIN {
      printf "%s audio s/s, %.3g TFLOP/s", ours, flops / 1e12
      if (peak) printf " (%.0f %% of the peak)", 1e-10 * flops / peak
      printf ", %s MiB", memory
      if (theirs) printf "; PyTorch %s, %s MiB: %.2f times", theirs, their_memory, ours / theirs
      if (fp32) printf ", %.2f times fp32", ours / fp32
      printf "\n"
      slow = theirs && ours < 1.3 * theirs
      large = theirs && compare_memory && memory > their_memory
      flat = fp32 && wants_gain && ours < 3.6 * fp32
      exit slow || large || flat ? 3 : 0
    }'
}
