# shellcheck shell=bash
# What `penstock plan` says beside what the GPU shows.

# plan.MODEL.PRECISION: planned bytes beside those in use, less what a tiny model has in use; and shares
# of time of two stages, from counted operations beside those of measured layers.
check_plan() {
  local model=$1 precision=$2 tiny large planned
  make_tones || return
  printf '[model]\nbase = "%s"\n[data]\ntrain = "%s"\nmicro_batch_seconds = 64\n' \
    "$model" "$work/tones/train.jsonl" >"$work/$model.toml"
  tiny=$(memory_of_steps "$work/tones/recipe.toml") && large=$(memory_of_steps "$work/$model.toml") &&
    planned=$(plan | field total) && [ -n "$planned" ] || return 1
  awk -v planned="$planned" -v used=$((large - tiny)) -v counted="$(shares --computed)" -v measured="$(shares)" '
    BEGIN {
      planned /= 1048576
      printf "%d MiB planned, %d in use; time of two stages %s counted, %s measured\n",
        planned, used, counted, measured
      exit used > 1.05 * planned ? 3 : 0
    }'
}

plan() { "$bin/penstock" plan "$work/$model.toml" trainer.device="$kind" precision.compute="$precision" --json "$@"; }
shares() { plan pipeline.stages=2 "$@" | grep -o '"time_share":[^,]*' | sed -E 's/.*:(.{1,4}).*/\1/' | paste -sd/; }

memory_of_steps() {
  with_memory within 60 "$bin/penstock" train "$1" trainer.device="$kind" trainer.steps=3 \
    trainer.validate_every=-1 precision.compute="$precision" trainer.output="$work/plan-$SECONDS-$RANDOM" \
    >/dev/null && memory
}
