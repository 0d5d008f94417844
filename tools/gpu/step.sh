# shellcheck shell=bash
# A first training step of large models, before anything else is tried.

# step.MODEL.PRECISION: a step of 8 utterances of 4 to 8 s. For DeepSpeech2 its layers' times as well, for others
# Hugging Face's step where it is here. Fails where the step does, or its loss is no number.
check_step() {
  local file loss seconds
  file=$(model_file "$1") || return
  within 60 "$bin/penstock" bench "$file" --device "$kind" --precision "$2" --batch 8 --seconds 8 --steps 1 --json \
    >"$work/step.json" || return
  cat "$work/step.json"
  loss=$(field loss <"$work/step.json") seconds=$(field step_s <"$work/step.json")
  grep -qxE '[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?' <<<"$loss" || { echo "a loss of ${loss:-nothing}"; return 3; }
  case $1 in
    ds2-*) echo "$seconds s a step, loss $loss; $(slowest_layers "$@")" ;;
    *) echo "$seconds s a step, loss $loss; $(step_of_transformers "$@")" ;;
  esac
}

# All layers are in the folder.
slowest_layers() {
  local profile=$folder/facts/profile-$1-$2.txt
  within 60 "$bin/penstock" profile "$(recipe_of "$1")" trainer.device="$kind" precision.compute="$2" \
    --micro-batches 1 --repeats 2 >"$profile" 2>&1 || { echo "no profile: $(tail -n 1 "$profile")"; return; }
  awk 'NF == 4 && $4 + 0 == $4 { printf "%s %.1f ms\n", $1, $(NF - 2) + $(NF - 1) + $NF }' "$profile" |
    sort -k2,2 -rn | head -n 3 | paste -sd';' | sed 's/;/, /g; s/^/slowest: /'
}

step_of_transformers() {
  has_peer || { echo "no peer: no transformers here, or no --transformers"; return; }
  within 60 python3 "$transformers" "$1" --device "$kind" --precision "$2" --batch 8 --seconds 8 --steps 1 --json \
    >"$work/step-peer.json" || { echo "no peer: transformers failed, or took too long"; return; }
  echo "transformers $(field step_s <"$work/step-peer.json") s"
}
