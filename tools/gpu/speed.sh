# shellcheck shell=bash
# Speed and memory of whole steps, beside the same model's of PyTorch or transformers where torch_bench.py or
# hf_bench.py is given and its libraries are here.

# field NAME: the number of that name in the JSON object on standard input.
field() { sed -nE "s/.*\"$1\": ?\"?([^,\"}]*).*/\1/p" | tail -n 1; }

# spread_of: "(0.0391 to 0.0402)", the fastest and the slowest step in the JSON object on standard input.
spread_of() { sed -nE 's/.*"spread": ?\[([0-9.e+-]+), ?([0-9.e+-]+)\].*/\1 \2/p' | awk '{ printf "(%.4g to %.4g)", $1, $2 }'; }

# with_memory COMMAND...: then memory() says how many MiB of the GPU were in use at most; nothing where it is not
# known.
with_memory() {
  : >"$work/memory"
  watch_memory >>"$work/memory" 2>&1 &
  local watch=$! status
  "$@"
  status=$?
  kill $watch
  return $status
}
readings_apart=0.2 # seconds
watch_memory() {
  while sleep $readings_apart; do ask_driver memory.used; done
}
memory() { awk '/^ *[0-9]+ *$/ && $1 > most { most = $1 } END { print most }' "$work/memory"; }

# has_modules MODULE...: whether Python finds them; to import them takes a budget's seconds.
has_modules() {
  within 5 python3 -c 'import sys, importlib.util as u
sys.exit(any(u.find_spec(module) is None for module in sys.argv[1:]))' "$@" >&2
}
has_torch() { [ -n "$torch" ] && has_modules torch; }
has_transformers() { [ -n "$transformers" ] && has_modules torch transformers; }

# model_file MODEL: a file of penstock's model with as many labels as hf_bench.py's has. "-chunk" has 16 layers, and
# where the CPU tries this, each has one.
model_file() {
  local models=${PENSTOCK_CONFIGS:-$root/configs}/models layers="" classes="" name=${1%-chunk}
  case $1 in *-chunk) layers=16 ;; esac
  case $1 in fastconformer-*) classes=1025 ;; omni-ctc-*) classes=9812 ;; esac
  [ "$kind" = cuda ] || layers=1
  awk -v layers="$layers" -v classes="$classes" '
    layers && /^layers *=/ { $0 = "layers = " layers }
    classes && /^classes *=/ { next }
    { print }
    classes && /^\[model\]/ { print "classes = " classes }' "$models/$name.toml" >"$work/model-$1.toml" && echo "$work/model-$1.toml"
}

# time_steps SIDE MODEL PRECISION OPTION...: a JSON object of timed steps of penstock, PyTorch or transformers. Where FP32
# is compared, NVIDIA's libraries must not take TF32 for it; where TF32 is, nothing may forbid it.
time_steps() {
  local command=()
  case $3 in
    fp32) command=(env NVIDIA_TF32_OVERRIDE=0) ;;
    tf32) command=(env -u NVIDIA_TF32_OVERRIDE) ;;
  esac
  case $1 in
    penstock) command+=("$bin/penstock" bench) ;;
    pytorch) command+=(python3 "$torch") ;;
    transformers) command+=(python3 "$transformers") ;;
  esac
  within "${limit:-60}" "${command[@]}" "$2" --device "$kind" --precision "$3" --json "${@:4}"
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

# compare LEAST SIDE MODEL THEIRS PRECISION OPTION... -- VARIANT...: steps of penstock's MODEL beside the fastest of the
# side's variants of THEIRS, each its options with "+" for spaces, or "" for none. Fails where penstock is less than LEAST
# times as fast, or where the side is here and no variant ends. Without it, says so and is skipped.
# `their_memory_counts`: fails where penstock takes more memory, too.
compare() {
  local least=$1 side=$2 model=$3 theirs=$4 precision=$5 options=() ours flops memory best="" how="" speed variant words their_memory=""
  shift 5
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  with_memory time_steps penstock "$model" "$precision" "${options[@]}" >"$work/ours.json" || { echo "penstock failed"; return 1; }
  cat "$work/ours.json"
  memory=$(memory) ours=$(field audio_s_per_s <"$work/ours.json") flops=$(field flops_per_s <"$work/ours.json")
  if ! "has_${side/pytorch/torch}"; then
    echo "$(figure_of_ours), ${memory:-unread} MiB; no peer: no $(name_of_side "$side") here, or no --${side/pytorch/torch}"
    return 77
  fi
  for variant; do
    read -r -a words <<<"${variant//+/ }"
    with_memory time_steps "$side" "$theirs" "$precision" "${options[@]}" "${words[@]}" >"$work/theirs.json"
    cat "$work/theirs.json"
    speed=$(field audio_s_per_s <"$work/theirs.json")
    if [ -n "$speed" ] && awk -v a="$speed" -v b="${best:-0}" 'BEGIN { exit a <= b }'; then
      best=$speed how=${words[*]} their_memory=$(memory)
    fi
  done
  [ -n "$best" ] || { echo "$(figure_of_ours), ${memory:-unread} MiB; $(name_of_side "$side") failed"; return 3; }
  echo "$(figure_of_ours), ${memory:-unread} MiB; $(name_of_side "$side") $best${how:+ by $how}, ${their_memory:-unread} MiB: $(
    awk -v a="$ours" -v b="$best" 'BEGIN { printf "%.2f", a / b }') times"
  awk -v ours="$ours" -v best="$best" -v least="$least" -v counts="${their_memory_counts:-}" -v memory="$memory" \
    -v theirs="$their_memory" 'BEGIN {
      large = counts && (memory == "" || theirs == "" || memory + 0 > theirs + 0)
      exit ours < least * best || large ? 3 : 0 }'
}
name_of_side() { case $1 in pytorch) echo PyTorch ;; *) echo "$1" ;; esac; }

# figure_of_ours: audio seconds a second, operations and their share of the peak, of compare()'s variables.
figure_of_ours() {
  awk -v ours="$ours" -v flops="$flops" -v peak="$(peak "$precision")" 'BEGIN {
    printf "%.5g audio s/s, %.3g TFLOP/s", ours, flops / 1e12
    if (peak) printf " (%.1f %% of the peak)", 1e-10 * flops / peak }'
}

# bench.MODEL.PRECISION.HOW: "batch-N" beside PyTorch as users write it, in no more memory at batch 8; "compiled", at
# batch 8 beside its compiler; "strong", 64 utterances beside the fastest of what an expert writes. Utterances have 4
# to 8 s.
check_bench() {
  local status their_memory_counts=""
  case $3 in
    compiled) compare 1.3 pytorch "$1" "$1" "$2" --batch 8 --seconds 8 -- --compile ;;
    strong) limit=40 compare 1.3 pytorch "$1" "$1" "$2" --batch 64 --seconds 8 -- --strong --strong+--compile --compile ;;
    batch-*)
      [ "$3" != batch-8 ] || their_memory_counts=yes
      compare 1.3 pytorch "$1" "$1" "$2" --batch "${3#batch-}" --seconds 8 -- ""
      status=$?
      [ ! -s "$work/ours.json" ] || field audio_s_per_s <"$work/ours.json" >"$work/bench-$1-$2-$3"
      return $status
      ;;
  esac
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

# peer.MODEL.PRECISION: 64 utterances of 4 to 8 s, beside the fastest of transformers' steps without padding: as they
# are, compiled, and compiled without FP32 masters, which is less work than any exact training.
check_peer() {
  local file
  file=$(model_file "$1") || return 1
  compare 1 transformers "$file" "$1" "$2" --batch 64 --seconds 8 --steps 5 -- --equal --equal+--compile --equal+--compile+--pure
}

# step.MODEL.PRECISION: steps of 8 utterances of 4 to 8 s, of which seven are timed on each side, in eager transformers
# for models that it has. Fails where penstock's does, or its loss is no number.
check_step() {
  local file loss
  file=$(model_file "$1") || return
  time_steps penstock "$file" "$2" --batch 8 --seconds 8 >"$work/step.json" || return
  cat "$work/step.json"
  loss=$(field loss <"$work/step.json")
  grep -qxE '[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?' <<<"$loss" || { echo "a loss of ${loss:-nothing}"; return 3; }
  echo "$(field step_s <"$work/step.json") s a step $(spread_of <"$work/step.json"), loss $loss; $(their_step "$@")"
}

their_step() {
  case $1 in ds2-*) has_torch && set -- pytorch "$@" ;; *) has_transformers && set -- transformers "$@" ;; esac ||
    { echo "no peer: no PyTorch or transformers here, or no --torch or --transformers"; return; }
  time_steps "$1" "$2" "$3" --batch 8 --seconds 8 --steps 7 >"$work/step-peer.json" ||
    { echo "no peer: $(name_of_side "$1") failed, or took too long"; return; }
  echo "$(name_of_side "$1") $(field step_s <"$work/step-peer.json") s $(spread_of <"$work/step-peer.json")"
}

# mfu.MODEL.PRECISION: steps of a large model on one GPU, alone: their share of the peak, what the device file predicts,
# and the layers by kind, all of which facts/kinds-MODEL.txt has.
check_mfu() {
  local file sizes=() like=() kinds=$folder/facts/kinds-$1.txt
  file=$(model_file "$1") || return
  case $1 in # of N utterances, the shortest has half of the longest's seconds; one alone has half
    omni-ctc-1b) sizes=(--batch 8 --seconds 20) ;;
    omni-ctc-7b-chunk) sizes=(--batch 2 --seconds 40) ;;
    fastconformer-xxl) sizes=(--batch 1 --seconds 1200) ;;
  esac
  [ "$kind" = cuda ] || sizes=(--batch 2 --seconds 0.4)
  case $device in *H200*) like=(--like h200) ;; *A100*) like=(--like a100-80) ;; *L4) like=(--like l4) ;; esac
  time_steps penstock "$file" "$2" "${sizes[@]}" --micro-batches 2 --steps 5 "${like[@]}" >"$work/mfu.json" || return
  cat "$work/mfu.json"
  { echo "# $1, $2, ${sizes[*]}, on $device"; kinds_of "$work/mfu.json"; } >"$kinds"
  cat "$kinds"
  awk -v audio="$(field audio_s_per_s <"$work/mfu.json")" -v flops="$(field flops_per_s <"$work/mfu.json")" \
    -v step="$(field step_s <"$work/mfu.json")" -v spread="$(spread_of <"$work/mfu.json")" -v peak="$(peak "$2")" \
    -v predicted="$(sed -nE 's/.*\], ?"predicted_s": ?([^,]*).*/\1/p' "$work/mfu.json")" -v by="$(field predicted_by <"$work/mfu.json")" \
    -v most="$(awk '!/^#/ { print $1, $6 "%" }' "$kinds" | sort -k2 -rn | head -n 4 | paste -sd';' | sed 's/%/ %/g; s/;/, /g')" 'BEGIN {
      if (!(step > 0) || !(predicted > 0)) { print "no step, or no prediction"; exit 3 }
      printf "%.5g audio s/s, %.4g s a step %s, %.3g TFLOP/s", audio, step, spread, flops / 1e12
      if (peak) printf " (%.1f %% of the peak)", 1e-10 * flops / peak
      printf "; predicted by %s: %.4g s, %+.0f %%; %s\n", by, predicted, 100 * (predicted / step - 1), most }'
}

# kinds_of FILE: of each kind of layer in a bench's JSON its layers, what they take for a micro-batch, what was predicted
# and by how much that is off, its share, and its operations a second.
kinds_of() {
  tr '{' '\n' <"$1" | sed -nE 's/"kind": ?"([^"]*)", ?"layers": ?([^,]*), ?"measured_s": ?([^,]*), ?"predicted_s": ?([^,]*), ?"flops": ?([^},]*).*/\1 \2 \3 \4 \5/p' |
    awk '
      { line[NR] = $0; all += $3 }
      END {
        print "# kind layers measured-ms predicted-ms off-% share-% TFLOP/s"
        for (i = 1; i <= NR; ++i) {
          split(line[i], f, " ")
          printf "%s %d %.4f %.4f %+.0f %.1f %.2f\n", f[1], f[2], 1e3 * f[3], 1e3 * f[4],
            (f[3] > 0 ? 100 * (f[4] / f[3] - 1) : 0), 100 * f[3] / all, (f[3] > 0 ? 1e-12 * f[5] / f[3] : 0)
        }
      }'
}
