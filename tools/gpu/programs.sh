# shellcheck shell=bash
# The programs that run the checks: built here, or packed where they could be built. Their CPU side is
# Eigen alone and their ranks meet in a folder, so that they need little of another machine.

programs=(penstock cuda_tests nccl_tests tone_corpus)
build=$root/build/gpu_check

# build_into FOLDER: FOLDER/bin.
build_into() {
  PATH=$PATH:/usr/local/cuda/bin
  command -v cmake >/dev/null && command -v nvcc >/dev/null || return 1
  cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DPENSTOCK_CUDA=ON -DPENSTOCK_CUDA_ARCHITECTURES=90 \
    -DPENSTOCK_MPI=OFF -DPENSTOCK_BLAS=OFF -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON \
    -DCMAKE_INSTALL_RPATH="\$ORIGIN/../lib" -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags >/dev/null &&
    cmake --build "$build" --target "${programs[@]}" -j "$(nproc)" >"$build/log" 2>&1 ||
    { tail -20 "$build/log" >&2; return 1; }
  local program
  mkdir -p "$1/bin"
  for program in "${programs[@]}"; do
    find "$build" -path "$1/bin" -prune -o -name "$program" -type f -perm -u+x -exec cp {} "$1/bin/" \;
    strip "$1/bin/$program"
  done
}

# pack FOLDER: programs, and of their libraries all but the C library and what CUDA brings.
pack() {
  rm -rf "$1" && mkdir -p "$1/lib" "$1/tools"
  build_into "$1" || { echo "gpu_check --pack: nothing could be built" >&2; return 1; }
  ldd "$1"/bin/* | awk '$3 ~ /^\// {print $3}' | sort -u |
    grep -vE '/(libcuda|libcublas|libcudnn|libnccl|libc\.|libm\.|libpthread|libdl|librt|ld-linux)' |
    xargs cp -Lt "$1/lib"
  cp -r "$root"/tools/{gpu,gpu_check,ranks} "$1/tools/"
  cp -r "$root/configs/models" "$1/"
  du -sm "$1" | awk '{print "packed " $1 " MB into " $2}'
}

# Folders with CUDA's libraries: a toolkit, or Python's packages.
cuda_folders() {
  local python
  ls -d "${CUDA_HOME:-/usr/local/cuda}"/lib64 /usr/local/cuda/lib64 2>/dev/null
  for python in python3 "${VIRTUAL_ENV:-/nowhere}/bin/python"; do
    "$python" -c 'import sys; print("\n".join(sys.path))' 2>/dev/null
  done | sort -u | while read -r folder; do
    ls -d "$folder"/nvidia/*/lib 2>/dev/null
  done
}

# Sets `bin` and what its programs find their libraries and models by.
find_programs() {
  local missing
  if [ -d "$root/bin" ]; then
    bin=$root/bin
  elif build_into "$build"; then
    bin=$build/bin
  else
    bin=$root/.packed/bin
  fi
  [ -x "$bin/penstock" ] ||
    { echo "gpu_check: can't build here, and no .packed folder (tools/gpu_check --pack makes it)" >&2; return 1; }
  [ ! -d "$bin/../models" ] || export PENSTOCK_CONFIGS=$bin/..
  LD_LIBRARY_PATH=$(cuda_folders | paste -sd:):${LD_LIBRARY_PATH:-}
  export LD_LIBRARY_PATH
  missing=$(ldd "$bin"/* 2>/dev/null | awk '/not found/ {print $1}' | sort -u | paste -sd' ')
  [ -z "$missing" ] || { echo "gpu_check: not found here: $missing" >&2; return 1; }
}
