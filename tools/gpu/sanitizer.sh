# shellcheck shell=bash
# NVIDIA's compute-sanitizer over every operation: of our kernels, for those of NVIDIA's libraries take minutes.

# sanitizer.TOOL
check_sanitizer() {
  local sanitizer status
  sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer) ||
    { echo "no compute-sanitizer here"; return 77; }
  # f*16 is f16 and fp16
  # cuDNN asks the driver for kernels that it lacks, and goes on.
  within 60 "$sanitizer" --tool "$1" --report-api-errors no --kernel-name kns=penstock --error-exitcode 9 "$bin/cuda_tests" \
    --gtest_filter='Cuda/*/f*16' >"$work/sanitizer.log"
  status=$?
  cat "$work/sanitizer.log"
  [ $status = 0 ] || return $status
  grep -q '^\[       OK \]' "$work/sanitizer.log" || { echo "no test ran"; return 3; }
  echo "clean"
}
