# shellcheck shell=bash
# What `penstock plan` says beside what the GPU shows.

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
