# shellcheck shell=bash
# What the tests of tools/gpu/ have in common: its functions, a folder, and programs that stand in for others.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
name=$(basename "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for part in "$root"/tools/gpu/*.sh; do
  # shellcheck source=/dev/null
  . "$part"
done

fail() { echo "$name: $*" >&2; exit 1; }

# stands_in PROGRAM: reads what it does from standard input; it comes before others of its name.
stands_in() {
  mkdir -p "$work/bin"
  { echo '#!/bin/bash'; cat; } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
bin=$work/bin
export PATH=$bin:$PATH

# says STATUS TEXT COMMAND...: the last line that it prints, and its status.
says() {
  local wanted=$1 text=$2 said status
  shift 2
  said=$("$@" 2>"$work/said")
  status=$?
  said=$(tail -n 1 <<<"$said")
  [ "$said" = "$text" ] || fail "$*: said \"$said\", not \"$text\"; $(tail -n 3 "$work/said")"
  [ $status = "$wanted" ] || fail "$*: status $status, not $wanted, with: $said"
}

# What tools/gpu_check sets.
kind=cuda device_id="" every_device="" torch="" transformers="" device="a GPU" driver=550.1 nccl_missing=""
ends=$((SECONDS + 60)) deadline=$((SECONDS + 60)) folder=$work/folder
name_device() { :; } # of this machine
begin_report "$folder" >/dev/null 2>&1
