# shellcheck shell=bash
# What the machine is, before anything else: a run that ends early has told at least this.

check_facts() { "facts_of_$1"; }

facts_of_driver() {
  [ "$kind" = cuda ] || { echo "no GPU is asked for"; return 77; }
  command -v nvidia-smi >/dev/null || { echo "no nvidia-smi here"; return 77; }
  within 6 nvidia-smi -q ${device_id:+-i "$device_id"} >"$folder/facts/nvidia-smi.txt" || return
  sed -nE 's/^ *(Product Name|Driver Version|CUDA Version|Compute Mode|Current ECC|Current) *: */\1 /p' \
    "$folder/facts/nvidia-smi.txt" | sort -u
  echo "$device, driver $driver, $(sed -nE 's/^CUDA Version *: *(.*)/CUDA \1/p' "$folder/facts/nvidia-smi.txt" | head -n 1)"
}

# Path of each shared library, by which its version is seen as well.
facts_of_libraries() {
  local program
  for program in "$bin"/*; do
    ldd "$program" 2>/dev/null | awk '$3 ~ /^\// { print $1, $3 } /not found/ { print $1, "not found" }'
  done | sort -u | while read -r name path; do
    echo "$name $(readlink -f "$path" 2>/dev/null || echo "$path")"
  done >"$folder/facts/libraries.txt"
  { uname -srm; ldd --version | head -n 1; cat /etc/os-release; nproc; free -m; } >"$folder/facts/system.txt" 2>&1
  { within 2 python3 --version; within 4 python3 -m pip list; } >"$folder/facts/python.txt" 2>&1
  cat "$folder/facts/libraries.txt"
  awk '/^lib(cudart|cublasLt|cudnn|nccl)[.]/ { n = split($2, part, "/"); printf "%s%s", sep, part[n]; sep = ", " }
    END { print "" }' "$folder/facts/libraries.txt"
}

# The device as CUDA describes it to penstock; its error where there is one that can't be used.
facts_of_penstock() {
  within 8 "$bin/penstock" bench ds2-tiny --device "$kind" --batch 2 --seconds 1 --steps 1 >"$work/described" ||
    { cat "$work/described"; return 1; }
  sed -n 's/^on //p' "$work/described"
}

# What NVIDIA's libraries offer for the models' shapes, and how long calls, kernels and products take: gpu_facts.
facts_of_convolutions() { tell_facts convolutions && echo "$rows rows of cuDNN's algorithms"; }
facts_of_products() { tell_facts products && echo "$rows rows of cuBLASLt's algorithms"; }
facts_of_times() {
  tell_facts times || return
  awk '!/^#/ && ($1 == "empty" || /fused step/ && $(NF - 2) == 8) {
    printf "%s%s %s µs", sep, $1 == "empty" ? "an empty launch" : "a fused step " $(NF - 4), $NF; sep = ", " }
    END { print "" }' "$folder/facts/times.txt"
}

# tell_facts SUBJECT: sets `rows`, how many it has. Fails where the program does, or says no row.
tell_facts() {
  [ "$kind" = cuda ] || { echo "no GPU is asked for"; return 77; }
  within 9 "$bin/gpu_facts" "$1" >"$folder/facts/$1.txt" || { tail -n 3 "$folder/facts/$1.txt"; return 1; }
  cat "$folder/facts/$1.txt"
  rows=$(grep -c '^[^#]' "$folder/facts/$1.txt")
  [ "$rows" -gt 0 ] || { echo "gpu_facts $1 says nothing"; return 3; }
}

# attention.HEAD: plain attention in BF16 with heads of so many channels, or "relative", beside PyTorch's
# scaled_dot_product_attention of the same shapes, which has no relative positions. gpu_facts times all of them once.
check_attention() {
  local ours=$work/attention-$1 theirs=$work/sdpa-$1 head heads
  [ -s "$folder/facts/attention.txt" ] || tell_facts attention || return
  awk -v which="$1" '!/^#/ && (which == "relative" ? $1 == which : $1 == "plain" && $3 == which)' \
    "$folder/facts/attention.txt" >"$ours"
  read -r _ _ head _ _ heads _ <"$ours" || { echo "gpu_facts attention has no row of $1"; return 3; }
  : >"$theirs"
  if has_modules torch; then
    # shellcheck disable=SC2046  # words
    within 20 python3 "$root/tools/gpu/sdpa.py" "$kind" "$head" "$heads" $(awk '{ print $4 ":" $5 }' "$ours") >"$theirs" || return
    sed "s/^/$1 /" "$theirs" | tee -a "$folder/facts/attention-of-torch.txt"
  fi
  awk '
    FNR == NR { ahead[$1] = $2; back[$1] = $3; next }
    {
      printf "%s%d frames %s + %s TFLOP/s", sep, $4, $8, $10
      if ($4 in ahead) printf " (%.2f + %.2f of PyTorch'"'"'s)", ahead[$4] / $7, back[$4] / $9
      sep = "; "
    }
    END { print "" }' "$theirs" "$ours"
}

# profile.device: the device as penstock measures it for plans, launches back to back.
check_profile() {
  local file=$folder/facts/device.txt
  within 60 "$bin/penstock" profile --device -o "$work/device.toml" || return
  tee "$file" <"$work/device.toml"
  awk '/^(launch|products|attention|bandwidth)/ { sub(/ *#.*/, ""); printf "%s%s", sep, $0; sep = "; " } END { print "" }' "$file"
}

# features.N: audio seconds a second that so many loaders read. No GPU is in it.
check_features() {
  local figure
  [ "$(nproc)" -ge "$1" ] || { echo "needs $1 cores, $(nproc) here"; return 77; }
  figure=$(within 20 "$bin/feature_speed" "$1") || return
  awk -v figure="$figure" -v loaders="$1" 'BEGIN {
    printf "%.0f audio s/s, %.0f for each of %d loaders\n", figure, figure / loaders, loaders
    exit !(figure > 0) }'
}
