# shellcheck shell=bash
# What the scripts of tools/ and .ci/run have in common; to be sourced from the repository's root.

# Open MPI starts as root, and with more ranks than cores, only when told so (mpirun's
# --allow-run-as-root and --oversubscribe). Ranks are not bound to cores, and do not read each other's
# memory, which containers forbid.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl_vader_single_copy_mechanism=none

# A clone finds what another one compiled. The sources that cmake makes of a folder hold absolute paths, of which
# ccache takes no notice below this folder.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# It takes objects made with precompiled headers, too (cmake/unity.cmake).
export CCACHE_SLOPPINESS=pch_defines,time_macros

say() { printf '\n== %s\n' "$*"; }

# Runs a command as root.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

# install_packages [PACKAGE...]: installs what is missing of these and of tools/packages; calls apt only then.
install_packages() {
  local package missing=()
  while read -r package; do
    installed "$package" || missing+=("$package")
  done < <(grep -v '^#' tools/packages && if [ $# -gt 0 ]; then printf '%s\n' "$@"; fi)
  if [ ${#missing[@]} -gt 0 ]; then
    say "installing ${missing[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"
  fi
}

# Compilations at once: one a core, but no more than memory allows (2 GiB each).
jobs_at_once() {
  local cores gib
  cores=$(nproc)
  gib=$(awk '/MemAvailable/ { print int($2 / 2097152) }' /proc/meminfo)
  [ "$gib" -ge 1 ] || gib=1
  echo $((cores < gib ? cores : gib))
}

# configure_preset PRESET [OPTION...]: what cmake says stays in build/PRESET/configure.log.
configure_preset() {
  mkdir -p "build/$1"
  cmake --preset "$@" | tee "build/$1/configure.log"
}

# build_preset PRESET [TARGET...]: all targets if none is named.
build_preset() {
  local preset=$1
  shift
  cmake --build --preset "$preset" -j "$(jobs_at_once)" ${1:+--target "$@"}
}
