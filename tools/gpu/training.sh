# shellcheck shell=bash
# Short trainings of a small DeepSpeech2 on tones, a tone for each letter; links between ranks; and what
# `penstock plan` says beside what the GPU shows.

make_tones() { [ -e "$work/tones/recipe.toml" ] || "$bin/tone_corpus" "$work/tones"; }

# train NAME OVERRIDE...: into $work/NAME, with what it says in $work/NAME.log; again only if it did not end.
train() {
  local name=$1 status
  shift
  make_tones || return
  [ ! -e "$work/$name.done" ] || return 0
  rm -rf "${work:?}/$name"
  within 90 "${ranks[@]}" "$bin/penstock" train "$work/tones/recipe.toml" trainer.device="${on:-$kind}" \
    trainer.validate_every=-1 trainer.output="$work/$name" "$@" >"$work/$name.log" 2>&1
  status=$?
  cat "$work/$name.log"
  [ $status != 0 ] || touch "$work/$name.done"
  return $status
}

# values KEY NAME: of each step of a training.
values() { sed -nE "s/.*\"$1\": ?\"?([^\",}]*).*/\1/p" "$work/$2/metrics.jsonl"; }

# train.PRECISION: its mean loss over steps 51 to 150, and how far that is from the CPU's in FP32. Its last 25
# losses must be less than half of its first 25.
check_train() {
  local ranks=() common=(trainer.steps=150 data.speeds=[1] model.dropout=0 model.channels=4 model.hidden=32
    optimizer.learning_rate=3e-3)
  on=cpu train tones-cpu "${common[@]}" precision.compute=fp32 || return
  train "tones-$1" "${common[@]}" precision.compute="$1" || return
  paste <(values loss tones-cpu) <(values loss "tones-$1") | awk '
    NF == 2 { ++n }
    n > 50 { cpu += $1; ours += $2 }
    n <= 25 { first += $2 }
    n > 125 { last += $2 }
    END {
      if (n != 150) { print n + 0 " steps have losses on both sides, not 150"; exit 3 }
      off = 100 * (ours - cpu) / cpu
      printf "mean loss %.4f, %+.2f %% from fp32 on the CPU; %.3f at first, %.3f at last\n",
        ours / 100, off, first / 25, last / 25
      exit off > 2 || off < -2 || ours <= 0 || ours != ours || last >= first / 2 ? 3 : 0 }'
}

# lacks_nccl: sets `without_nccl`, why nothing is run over NCCL.
lacks_nccl() {
  without_nccl=""
  if [ -n "${nccl_missing:-}" ]; then
    without_nccl="no NCCL here: $nccl_missing"
  elif [ "$(cat "$work/nccl-step" 2>/dev/null)" != ended ]; then
    without_nccl="the step of two ranks over NCCL did not end"
  fi
  [ -n "$without_nccl" ]
}

# went_over_nccl NAME: whether the training says so itself. On CPUs nothing does.
went_over_nccl() {
  [ "$kind" != cuda ] || grep -q 'NCCL carries activations and gradients' "$work/$1.log" || {
    echo "NCCL carried nothing: $(grep -m 1 "host's messages" "$work/$1.log" || echo "penstock does not say that it did")"
    return 3
  }
}

# nccl.2.step: one step in two stages. Where it hangs, nothing else is tried over NCCL.
check_nccl() {
  local ranks=("$root/tools/ranks" "$1")
  if [ -n "${nccl_missing:-}" ]; then echo "no NCCL here: $nccl_missing"; return 77; fi
  train "nccl-$1" trainer.steps=1 trainer.lanes=4 data.micro_batches=8 pipeline.schedule=1f1b \
    "pipeline.stages=$1" || return
  went_over_nccl "nccl-$1" || return
  [ "$(values loss "nccl-$1" | grep -c .)" = 1 ] || { echo "the step has no loss"; return 3; }
  echo ended >"$work/nccl-step"
  echo "a step of $1 ranks over NCCL, loss $(values loss "nccl-$1")"
}

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

# recipe_of MODEL: a recipe of the model on tones.
recipe_of() {
  make_tones && printf '[model]\nbase = "%s"\n[data]\ntrain = "%s"\nmicro_batch_seconds = 64\n' \
    "$1" "$work/tones/train.jsonl" >"$work/$1.toml" && echo "$work/$1.toml"
}

# plan.MODEL.PRECISION: planned bytes beside those in use, less what a tiny model has in use; and shares
# of time of two stages, from counted operations beside those of measured layers. Fails where nvidia-smi has
# not said how much is in use.
check_plan() {
  local model=$1 precision=$2 tiny large planned
  [ "$kind" = cuda ] || { echo "a CPU has no memory of its own to read"; return 77; }
  recipe_of "$model" >/dev/null || return
  tiny=$(memory_of_steps "$work/tones/recipe.toml") && large=$(memory_of_steps "$work/$model.toml") || return
  [ -n "$tiny" ] && [ -n "$large" ] || { echo "no reading of memory: $(tail -n 1 "$work/memory")"; return 3; }
  planned=$(plan | field total) && [ -n "$planned" ] || return 1
  awk -v planned="$planned" -v used=$((large - tiny)) -v counted="$(shares --computed)" -v measured="$(shares)" '
    BEGIN {
      planned /= 1048576
      printf "%d MiB planned, %d in use; time of two stages %s counted, %s measured\n",
        planned, used, counted, measured
      exit used > 1.05 * planned || used <= 0 ? 3 : 0
    }'
}

plan() { within 60 "$bin/penstock" plan "$work/$model.toml" trainer.device="$kind" precision.compute="$precision" --json "$@"; }
shares() { plan pipeline.stages=2 "$@" | grep -o '"time_share":[^,]*' | sed -E 's/.*:(.{1,4}).*/\1/' | paste -sd/; }

memory_of_steps() {
  with_memory within 60 "$bin/penstock" train "$1" trainer.device="$kind" trainer.steps=3 \
    trainer.validate_every=-1 precision.compute="$precision" trainer.output="$work/plan-$SECONDS-$RANDOM" \
    >&2 && memory
}
