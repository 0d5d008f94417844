# shellcheck shell=bash
# Packs of two CUDAs, .packed and .packed_12, and which of them a machine runs.

clang=clang++-22

# set_toolkit CUDA: sets `toolkit`, which tells CMake of the compiler and libraries: nvcc and its own, or clang and
# those of Python's packages for CUDA 12. `loaded` is where these lie, which the loader does not know.
set_toolkit() {
  toolkit=() loaded=""
  if [ "$1" != 12 ]; then
    command -v nvcc >/dev/null
    return
  fi
  command -v "$clang" >/dev/null || { echo "gpu_check --pack 12: no $clang here: install clang-22" >&2; return 1; }
  "$root/tools/gpu/toolkit_12" "$root/build/cuda12" || return
  # By default clang links with a program that Debian's package lacks; its older way takes any linker.
  toolkit=(-DCMAKE_CUDA_COMPILER="$clang" -DCMAKE_CUDA_FLAGS=--no-offload-new-driver
    -DCUDAToolkit_ROOT="$root/build/cuda12")
  loaded=$root/build/cuda12/lib64
}

# cuda_of_nvcc, cuda_of FOLDER: the CUDA of what nvcc builds here, and of a pack's programs.
cuda_of_nvcc() { PATH=$PATH:/usr/local/cuda/bin nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9]*\).*/\1/p'; }
cuda_of() { compgen -G "$1/lib/libcudart.so.*" | sed -n '1s/.*[.]so[.]\([0-9]*\).*/\1/p'; }

needed_driver() { if [ "${1:-0}" -ge 13 ]; then echo 580; else echo 525; fi; }

# driver_runs CUDA: also where nvidia-smi is missing or says no version.
driver_runs() {
  [ "$kind" = cuda ] || return 0
  ask_driver driver_version | awk -F . -v needed="$(needed_driver "$1")" '
    NR == 1 && $1 ~ /^[0-9]+$/ { old = $1 < needed } END { exit old }'
}

# choose_pack FOLDER...: sets `bin` to the programs of the first pack that the driver runs and whose libraries are here.
choose_pack() {
  local pack cuda seen="" said=""
  for pack; do
    [ -x "$pack/bin/penstock" ] && { [ "$pack" = "$1" ] || [ ! "$pack" -ef "$1" ]; } || continue
    cuda=$(cuda_of "$pack")
    seen+=" ${cuda:=13}"
    if ! driver_runs "$cuda"; then
      said+="gpu_check: $(basename "$pack") is of CUDA $cuda, which wants a driver of $(needed_driver "$cuda") or newer"$'\n'
      continue
    fi
    bin=$pack/bin
    if (find_libraries) >/dev/null 2>&1; then find_libraries; return; fi
    said+=$(find_libraries 2>&1)$'\n'
  done
  printf '%s' "${said:-"gpu_check: can't build here, and no .packed folder (tools/gpu_check --pack makes it)"$'\n'}" >&2
  [[ $seen == *12* ]] || ! driver_runs 12 || driver_runs 13 ||
    echo "gpu_check: this driver runs CUDA 12: carry .packed_12, which tools/gpu_check --pack 12 makes" >&2
  return 1
}
