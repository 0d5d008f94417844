# shellcheck shell=bash
# The programs that run the checks: built here, or packed where they could be built. Their CPU side is
# Eigen alone and their ranks meet in a folder, so that they need little of another machine.

programs=(penstock cuda_tests nccl_tests tone_corpus gpu_facts feature_speed)
build=$root/build/gpu_check

# build_into FOLDER [12]: FOLDER/bin, and FOLDER/no_nccl for machines without NCCL.
build_into() {
  local build=$build${2:+_$2} toolkit
  PATH=$PATH:/usr/local/cuda/bin
  command -v cmake >/dev/null && set_toolkit "${2:-}" || return 1
  cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DPENSTOCK_CUDA=ON -DPENSTOCK_CUDA_ARCHITECTURES=90 \
    -DPENSTOCK_MPI=OFF -DPENSTOCK_BLAS=OFF -DPENSTOCK_SENTENCEPIECE=OFF -DPENSTOCK_KENLM=OFF -DPENSTOCK_PORTABLE=ON \
    -DPENSTOCK_UNITY=ON -DPENSTOCK_EMULATED_CUDA=OFF -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON \
    -DCMAKE_INSTALL_RPATH="\$ORIGIN/../lib" -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags \
    "${toolkit[@]}" >/dev/null &&
    cmake --build "$build" --target "${programs[@]}" -j "$(nproc)" >"$build/log" 2>&1 ||
    { tail -20 "$build/log" >&2; return 1; }
  local program
  mkdir -p "$1/bin" "$1/no_nccl"
  for program in "${programs[@]}"; do
    find "$build" -path "$1/bin" -prune -o -name "$program" -type f -perm -u+x -exec cp {} "$1/bin/" \;
    strip "$1/bin/$program"
  done
  no_nccl "$1"
}

# no_nccl FOLDER: a library that only says that NCCL is missing. Programs start with it in NCCL's place.
no_nccl() {
  local name
  name=$(objdump -p "$1"/bin/* | awk '/NEEDED/ && $2 ~ /^libnccl/ { print $2; exit }')
  [ -n "$name" ] || return 0  # built without it
  nm -D --undefined-only "$1"/bin/* | awk '$1 == "U" && $2 ~ /^nccl/ { sub(/@.*/, "", $2); print $2 }' | sort -u |
    sed -E 's/^nccl[A-Za-z]*(ErrorString|LastError)$/const char* &(void) { return "NCCL is missing here"; }/; t
      s/.*/int &(void) { return 2; } \/\* ncclSystemError \*\//' |
    cc -x c -shared -fPIC -nostdlib -Wl,-soname,"$name" -o "$1/no_nccl/$name" -
}

# What a pack leaves to the machine: the C library, which is older or newer there, and what CUDA brings but for
# its runtime.
of_the_machine='/(libcuda[.]|libcublas|libcudnn|libnccl|libc[.]|libm[.]|libpthread|libdl|librt|ld-linux)'

# pack FOLDER [12]: programs, and of their libraries all that the machine lacks.
pack() {
  local loaded
  rm -rf "$1" && mkdir -p "$1/lib" "$1/tools"
  build_into "$@" || { echo "gpu_check --pack: nothing could be built" >&2; return 1; }
  LD_LIBRARY_PATH=${loaded:+$loaded:}${LD_LIBRARY_PATH:-} ldd "$1"/bin/* | awk '$3 ~ /^\// {print $3}' |
    sort -u | grep -vE "$of_the_machine" |
    grep -vE '/(libstdc\+\+|libgcc_s)[.]' |  # cuDNN's need, and the machine's affair
    xargs cp -Lt "$1/lib"
  cp -r "$root"/tools/{gpu,gpu_check,ranks} "$1/tools/"
  cp -r "$root"/configs/{models,devices} "$1/"
  keep_needs "$1"
  too_new "$1"/bin/* "$1"/lib/* || return
  du -sm "$1" | awk '{print "packed " $1 " MB into " $2}'
}

# too_new FILE...: says which symbols of the C library newer than RHEL 9's and Ubuntu 22.04's the files need, and
# which of a C++ library, that a pack does not have; status 1 where there is one. CUDA's runtime needs neither.
newest_glibc=2.34
too_new() {
  local file found
  found=$(for file; do
    objdump -T "$file" | grep -F '*UND*' | grep -oE '(GLIBC|GLIBCXX|CXXABI|GCC)_[0-9.]+.*' | tr -d ')' |
      awk -v file="$(basename "$file")" -v newest=$newest_glibc '{
        split($1, part, "_")
        split(part[2], version, "."); split(newest, bound, ".")
        newer = version[1] + 0 > bound[1] + 0 || (version[1] + 0 == bound[1] + 0 && version[2] + 0 > bound[2] + 0)
        if (part[1] != "GLIBC" || newer) print file " needs " $2 " of " $1 }'
  done)
  [ -z "$found" ] || { printf 'gpu_check: this does not start on older machines:\n%s\n' "$found" >&2; return 1; }
}

# Folders with CUDA's libraries: a toolkit, Python's packages, or those of this list that the loader knows.
cuda_folders() {
  local python
  ls -d "${CUDA_HOME:-/usr/local/cuda}"/lib64 /usr/local/cuda/lib64 2>/dev/null
  for python in python3 "${VIRTUAL_ENV:-/nowhere}/bin/python"; do
    "$python" -c 'import sys; print("\n".join(sys.path))' 2>/dev/null
  done | sort -u | while read -r folder; do
    ls -d "$folder"/nvidia/*/lib 2>/dev/null
  done
}

# missing_libraries: what the loader does not find for the programs.
missing_libraries() { ldd "$bin"/* 2>/dev/null | awk '/not found/ && $1 ~ /^lib/ {print $1}' | sort -u; }

# Sets `bin`, what its programs find their libraries and models by, and `nccl_missing`. Without NCCL only its
# checks fall away; without another library, all of them.
find_programs() {
  if [ -d "$root/bin" ]; then
    choose_pack "$root" "$root"/../.packed*
  elif driver_runs "$(cuda_of_nvcc)" && build_into "$build"; then
    bin=$build/bin
    find_libraries
  else
    choose_pack "$root"/.packed*
  fi || return
  export PENSTOCK_CONFIGS=$root/configs
  [ ! -d "$bin/../models" ] || PENSTOCK_CONFIGS=$bin/..
}

find_libraries() {
  local missing
  LD_LIBRARY_PATH=$(cuda_folders | paste -sd:):${LD_LIBRARY_PATH:-}
  export LD_LIBRARY_PATH
  nccl_missing=""
  missing=$(missing_libraries)
  if grep -q '^libnccl' <<<"$missing"; then
    nccl_missing="$(grep '^libnccl' <<<"$missing") is in no toolkit, no package of Python and no path of the loader"
    echo "gpu_check: $nccl_missing: the checks nccl, Nccl, stages, replicas, recompute," \
      "postvalidation, links, trace and Cuda…Nccl fall away" >&2
    LD_LIBRARY_PATH=$(cd "$bin/../no_nccl" && pwd):$LD_LIBRARY_PATH
    missing=$(missing_libraries)
  fi
  [ -z "$missing" ] || {
    echo "gpu_check: in no toolkit, no package of Python and no path of the loader: $(paste -sd' ' <<<"$missing"):" \
      "all checks fall away" >&2
    return 1
  }
}
