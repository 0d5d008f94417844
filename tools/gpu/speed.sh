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

# best SIDE MODEL PRECISION BATCH...: audio seconds a second of the fastest batch that fits.
best() {
  local side=$1 model=$2 precision=$3 batch command
  shift 3
  for batch in "$@"; do
    case $side in
      penstock) command=("$bin/penstock" bench) ;;
      pytorch) command=(python3 "$torch") ;;
      compiled) command=(python3 "$torch" --compile) ;;
    esac
    within 60 "${command[@]}" "$model" --device "$kind" --precision "$precision" --batch "$batch" \
      --seconds 8 --json | field audio_s_per_s
  done | sort -n | tail -n 1
}

# bench.MODEL.PRECISION.BATCH: "batch-8", "fastest" or "compiled" (PyTorch's compiler, at batch 8).
check_bench() {
  local model=$1 precision=$2 side=pytorch batches=(8) ours theirs="" figure
  [ "$3" != fastest ] || batches=(32 128)
  if [ "$3" = compiled ]; then
    has_torch || { echo "no PyTorch here, or no --torch"; return 77; }
    side=compiled
  fi
  ours=$(with_memory best penstock "$model" "$precision" "${batches[@]}")
  [ -n "$ours" ] || return 1
  figure="$ours audio s/s, $(memory) MiB"
  echo "$ours" >"$work/$model-$precision-$3"
  ! has_torch || theirs=$(with_memory best $side "$model" "$precision" "${batches[@]}")
  [ -z "$theirs" ] || figure+="; PyTorch $theirs, $(memory) MiB"
  awk -v ours="$ours" -v theirs="$theirs" -v fp32="$(cat "$work/$model-fp32-$3" 2>/dev/null)" -v figure="$figure" '
    BEGIN {
      if (theirs) figure = figure sprintf(": %.2f times", ours / theirs)
      if (fp32) figure = figure sprintf(", %.2f times fp32", ours / fp32)
      print figure
      exit theirs && ours < 1.3 * theirs ? 3 : 0
    }'
}
