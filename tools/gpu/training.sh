# shellcheck shell=bash
# Short trainings of a small DeepSpeech2 on tones, a tone for each letter.

make_tones() { [ -e "$work/tones/recipe.toml" ] || "$bin/tone_corpus" "$work/tones"; }

# train NAME OVERRIDE...: into $work/NAME, with what it says in $work/NAME.log; again only if it did not end.
train() {
  local name=$1 status
  shift
  make_tones || return
  [ ! -e "$work/$name.done" ] || return 0
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

# stages.N.SCHEDULE and replicas.N.SCHEDULE: on one GPU over NCCL, every loss as one rank's in the same lanes.
check_stages() { same_losses "stages" "$@"; }
check_replicas() { same_losses "replicas" "$@"; }
same_losses() {
  local ranks=() steps=20 count
  local shared=("trainer.steps=$steps" trainer.lanes=4 data.micro_batches=8 pipeline.schedule="$3")
  if lacks_nccl; then echo "$without_nccl"; return 77; fi
  train "one-$3" "${shared[@]}" || return
  ranks=("$root/tools/ranks" "$2")
  train "$1-$2-$3" "${shared[@]}" "pipeline.$1=$2" || return
  went_over_nccl "$1-$2-$3" || return
  count=$(values loss_hex "one-$3" | grep -c .)
  [ "$count" = $steps ] || { echo "$count losses to compare, not $steps"; return 3; }
  [ "$(values loss_hex "one-$3")" = "$(values loss_hex "$1-$2-$3")" ] || { echo "losses differ"; return 3; }
  echo "$count losses equal in every bit"
}
