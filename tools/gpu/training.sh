# shellcheck shell=bash
# Short trainings of a small DeepSpeech2 on tones, a tone for each letter.

make_tones() { [ -e "$work/tones/recipe.toml" ] || "$bin/tone_corpus" "$work/tones"; }

# make_conformer: the same recipe of a Conformer, which has residual units.
make_conformer() {
  make_tones && {
    printf '[model]\nkind = "conformer"\nfeatures = 41\nwidth = 16\nheads = 2\nlayers = 2\nkernel = 5\nchannels = 2\n'
    sed -n '/^\[text\]/,$p' "$work/tones/recipe.toml"
  } >"$work/tones/conformer.toml"
}

# train NAME OVERRIDE...: into $work/NAME, with what it says in $work/NAME.log; again only if it did not end.
# `recipe` names another one than tones/recipe.toml.
train() {
  local name=$1 status
  shift
  make_tones || return
  [ ! -e "$work/$name.done" ] || return 0
  within 90 "${ranks[@]}" "$bin/penstock" train "$work/tones/${recipe:-recipe}.toml" trainer.device="${on:-$kind}" \
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

# On one GPU over NCCL, with every loss as one rank's in the same lanes and order:
# stages.N.SCHEDULE, replicas.N.SCHEDULE.
check_stages() { same_losses "stages-$1-$2" "$1" one -- pipeline.stages="$1" pipeline.schedule="$2"; }
check_replicas() { same_losses "replicas-$1-$2" "$1" one -- pipeline.replicas="$1" pipeline.schedule="$2"; }

# recompute.N.WHAT: N stages that run layers again, of a Conformer within its residual units.
check_recompute() {
  local recipe=recipe one=one
  if [ "$2" = selective ]; then
    make_conformer || return
    recipe=conformer one=one-conformer
  fi
  same_losses "recompute-$1-$2" "$1" $one -- pipeline.stages="$1" pipeline.recompute="$2"
}

# postvalidation.N.SCHEDULE: updates before the norm is known. Of these steps, one exceeds the norm behind eight
# that do not, so that an update has to be rolled back.
check_postvalidation() {
  local name=postvalidation-$1-$2
  same_losses "$name" "$1" one-late trainer.steps=24 trainer.seed=2 optimizer.learning_rate=3e-4 \
    optimizer.clip_norm=92 -- pipeline.stages="$1" pipeline.schedule="$2" pipeline.post_validation=true || return
  grep -o 'post-validation rolled back [1-9].*' "$work/$name.log" || { echo "no update was rolled back"; return 3; }
}

# same_losses NAME RANKS ONE OVERRIDE... -- OVERRIDE...: the training NAME of so many ranks beside ONE of one rank.
# The second overrides are the ranks' alone.
same_losses() {
  local name=$1 number=$2 one=$3 ranks=() count wanted
  local shared=(trainer.steps=20 trainer.lanes=4 data.micro_batches=8 "trainer.order=[3,0,6,1,7,2,5,4]")
  shift 3
  while [ "$1" != -- ]; do
    shared+=("$1")
    shift
  done
  shift
  if lacks_nccl; then echo "$without_nccl"; return 77; fi
  train "$one" "${shared[@]}" || return
  ranks=("$root/tools/ranks" "$number")
  train "$name" "${shared[@]}" "$@" || return
  went_over_nccl "$name" || return
  wanted=$(printf '%s\n' "${shared[@]}" | sed -n 's/^trainer.steps=//p' | tail -n 1)
  count=$(values loss_hex "$one" | grep -c .)
  [ "$count" = "$wanted" ] || { echo "$count losses to compare, not $wanted"; return 3; }
  [ "$(values loss_hex "$one")" = "$(values loss_hex "$name")" ] || { echo "losses differ"; return 3; }
  echo "$count losses equal in every bit"
}
