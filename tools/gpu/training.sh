# shellcheck shell=bash
# Short trainings of a small DeepSpeech2 on tones, a tone for each letter.

make_tones() { [ -e "$work/tones/recipe.toml" ] || "$bin/tone_corpus" "$work/tones"; }

# train NAME OVERRIDE...: into $work/NAME; again only if it is not there.
train() {
  local name=$1
  shift
  make_tones || return
  [ ! -e "$work/$name/metrics.jsonl" ] || return 0
  within 90 "${ranks[@]}" "$bin/penstock" train "$work/tones/recipe.toml" trainer.device="$kind" \
    trainer.validate_every=-1 trainer.output="$work/$name" "$@"
}

# values KEY NAME: of each step of a training.
values() { sed -nE "s/.*\"$1\": ?\"?([^\",}]*).*/\1/p" "$work/$2/metrics.jsonl"; }

# train.PRECISION: its mean loss over steps 51 to 150, and how far that is from FP32's.
check_train() {
  local ranks=() precision
  for precision in fp32 "$1"; do
    train "tones-$precision" trainer.steps=150 data.speeds=[1] model.dropout=0 \
      model.channels=4 model.hidden=32 optimizer.learning_rate=3e-3 \
      precision.compute="$precision" || return 1
  done
  mean() { values loss "tones-$1" | awk 'NR > 50 { sum += $1 } END { print sum / (NR - 50) }'; }
  awk -v ours="$(mean "$1")" -v fp32="$(mean fp32)" 'BEGIN {
    off = 100 * (ours - fp32) / fp32
    printf "mean loss %.4f, %+.2f %% from fp32\n", ours, off
    exit off > 2 || off < -2 || ours + 0 <= 0 ? 3 : 0 }'
}

# stages.N.SCHEDULE and replicas.N.SCHEDULE: on one GPU, every loss as one rank's in the same lanes.
check_stages() { same_losses "stages" "$@"; }
check_replicas() { same_losses "replicas" "$@"; }
same_losses() {
  local ranks=() shared=(trainer.lanes=4 data.micro_batches=8 pipeline.schedule="$3")
  train "one-$3" "${shared[@]}" || return 1
  ranks=("$root/tools/ranks" "$2")
  train "$1-$2-$3" "${shared[@]}" "pipeline.$1=$2" || return 1
  [ "$(values loss_hex "one-$3")" = "$(values loss_hex "$1-$2-$3")" ] || { echo "losses differ"; return 3; }
  echo "$(values loss_hex "one-$3" | wc -l) losses equal in every bit"
}
