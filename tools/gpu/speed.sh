# shellcheck shell=bash
# Speed and memory of whole steps, beside PyTorch's where torch_bench.py is given and PyTorch is here.

# field NAME: the number of that name in the JSON object on standard input.
field() { sed -nE "s/.*\"$1\": ?\"?([^,\"}]*).*/\1/p" | tail -n 1; }

# with_memory COMMAND...: then memory() says how many MiB of the GPU were in use at most; nothing where it is not
# known.
with_memory() {
  watch_memory >"$work/memory" 2>&1 &
  local watch=$! status
  "$@"
  status=$?
  kill $watch
  return $status
}
watch_memory() {
  while sleep 0.2; do ask_driver memory.used; done
}
memory() { awk '/^ *[0-9]+ *$/ && $1 > most { most = $1 } END { print most }' "$work/memory"; }

# has_modules MODULE...: whether Python finds them; to import them takes a budget's seconds.
has_modules() {
  within 5 python3 -c 'import sys, importlib.util as u
sys.exit(any(u.find_spec(module) is None for module in sys.argv[1:]))' "$@" >&2
}
has_torch() { [ -n "$torch" ] && has_modules torch; }

# best SIDE MODEL PRECISION BATCH...: audio seconds a second of the fastest batch that fits, and the operations a
# second that penstock counts in it. A batch may take `limit` seconds, 60 unless it is set. Where FP32 is
# compared, NVIDIA's libraries must not take TF32 for it; where TF32 is, nothing may forbid it.
best() {
  local side=$1 model=$2 precision=$3 batch command=()
  shift 3
  case $precision in
    fp32) command=(env NVIDIA_TF32_OVERRIDE=0) ;;
    tf32) command=(env -u NVIDIA_TF32_OVERRIDE) ;;
  esac
  case $side in
    penstock) command+=("$bin/penstock" bench) ;;
    pytorch) command+=(python3 "$torch") ;;
    compiled) command+=(python3 "$torch" --compile) ;;
    transformers) command+=(python3 "$transformers") ;;
  esac
  for batch in "$@"; do
    within "${limit:-60}" "${command[@]}" "$model" --device "$kind" --precision "$precision" --batch "$batch" \
      --seconds 8 --json >"$work/timed" &&
      echo "$(field audio_s_per_s <"$work/timed") $(field flops_per_s <"$work/timed")"
    cat "$work/timed" >&2
  done | sort -n | tail -n 1
}

# peak PRECISION: what the GPU can do at most, in 10^12 operations a second, by its maker's data sheet (dense; of
# TF32 half as many as of halves); nothing for one that is not in this list.
peak() {
  awk -v gpu="$device" -v precision="$1" 'BEGIN {
    split("H200 989 67 H100 989 67 A100 312 19.5 L40S 362 92 L4 121 30", table, " ")
    for (i = 1; i in table; i += 3)
      if (index(gpu, table[i])) {
        print precision == "fp32" ? table[i + 2] : precision == "tf32" ? table[i + 1] / 2 : table[i + 1]
        exit
      } }'
}

# bench.MODEL.PRECISION.BATCH: "batch-N", "fastest" of 32 and 128, or "compiled" (PyTorch's compiler, at batch 8).
# Fails where penstock is less than 1.3 times as fast as PyTorch, takes more memory at batch 8 than eager PyTorch,
# or where PyTorch is here and does not end. Without PyTorch it says so, and is skipped.
check_bench() {
  local model=$1 precision=$2 side=pytorch batches=("${3#batch-}") ours flops memory theirs="" their_memory=""
  case $3 in
    fastest) batches=(32 128) ;;
    compiled) side=compiled batches=(8) ;;
  esac
  read -r ours flops <<<"$(with_memory best penstock "$model" "$precision" "${batches[@]}")"
  [ -n "$ours" ] || { echo "penstock failed"; return 1; }
  memory=$(memory)
  echo "$ours" >"$work/bench-$model-$precision-$3"
  if has_torch; then
    read -r theirs _ <<<"$(with_memory best $side "$model" "$precision" "${batches[@]}")"
    their_memory=$(memory)
    [ -n "$theirs" ] || { echo "$ours audio s/s, ${memory:-unread} MiB; PyTorch failed"; return 3; }
  fi
  awk -v ours="$ours" -v theirs="$theirs" -v flops="$flops" -v peak="$(peak "$precision")" \
    -v memory="$memory" -v their_memory="$their_memory" -v compare_memory="$([ "$3" != batch-8 ] || echo 1)" '
    BEGIN {
      printf "%s audio s/s, %.3g TFLOP/s", ours, flops / 1e12
      if (peak) printf " (%.0f %% of the peak)", 1e-10 * flops / peak
      printf ", %s MiB", memory == "" ? "unread" : memory
      if (theirs == "") { print "; no peer: no PyTorch here, or no --torch"; exit 77 }
      printf "; PyTorch %s, %s MiB: %.2f times\n", theirs, their_memory == "" ? "unread" : their_memory, ours / theirs
      large = compare_memory && (memory == "" || their_memory == "" || memory + 0 > their_memory + 0)
      exit ours < 1.3 * theirs || large ? 3 : 0
    }'
}

# gain.MODEL.PRECISION: how much faster than FP32, each at its fastest batch. A small batch waits for launches in
# either. Fails below 3.6.
check_gain() {
  local ours fp32
  ours=$(cat "$work/bench-$1-$2"-batch-* 2>/dev/null | sort -n | tail -n 1)
  fp32=$(cat "$work/bench-$1"-fp32-batch-* 2>/dev/null | sort -n | tail -n 1)
  [ -n "$ours" ] && [ -n "$fp32" ] || { echo "not timed: it takes the checks bench.$1.$2 and bench.$1.fp32"; return 77; }
  awk -v ours="$ours" -v fp32="$fp32" 'BEGIN {
    printf "%s audio s/s, %s in fp32: %.2f times\n", ours, fp32, ours / fp32
    exit ours < 3.6 * fp32 ? 3 : 0 }'
}
