# shellcheck shell=bash
# Speed and memory of Transformers and Conformers beside Hugging Face's, where hf_bench.py is given and
# its libraries are here. best(), with_memory(), memory() and has_modules() are speed.sh's.

has_peer() { [ -n "$transformers" ] && has_modules torch transformers; }

# model_file MODEL: a model of penstock with as many labels as hf_bench.py's.
model_file() {
  local models=${PENSTOCK_CONFIGS:-$root/configs}/models
  { cat "$models/$1.toml" && case $1 in fastconformer-*) echo "classes = 1025" ;; esac; } >"$work/$1-peer.toml" &&
    echo "$work/$1-peer.toml"
}

# peer.MODEL.PRECISION: batch 8, utterances of 4 to 8 s. Fails where penstock is slower. Without a peer
# that ends it says penstock's figure, and is skipped.
check_peer() {
  local model=$1 precision=$2 ours flops memory theirs file
  file=$(model_file "$model") || return 1
  read -r ours flops <<<"$(with_memory best penstock "$file" "$precision" 8)"
  [ -n "$ours" ] || { echo "penstock failed"; return 1; }
  memory=$(memory)
  if ! has_peer; then
    echo "$ours audio s/s, ${memory:-unread} MiB; no peer: no transformers here, or no --transformers"
    return 77
  fi
  read -r theirs _ <<<"$(with_memory best transformers "$model" "$precision" 8)"
  [ -n "$theirs" ] ||
    { echo "$ours audio s/s, ${memory:-unread} MiB; no peer: transformers failed, or took too long"; return 77; }
  awk -v ours="$ours" -v theirs="$theirs" -v flops="$flops" -v memory="${memory:-unread}" -v their_memory="$(memory)" 'BEGIN {
    printf "%s audio s/s, %.3g TFLOP/s, %s MiB; transformers %s, %s MiB: %.2f times\n",
      ours, flops / 1e12, memory, theirs, their_memory == "" ? "unread" : their_memory, ours / theirs
    exit ours < theirs ? 3 : 0 }'
}
