#include "layers/cpu/halves/half_backend.h"

#include "layers/ops/list.h"

namespace penstock::layers {

HalfCpuBackend::HalfCpuBackend(int threads) : CpuBackend(threads) {
  set_operations<HalfCpuBackend>(operations_, Operations{});
}

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  return std::make_unique<HalfCpuBackend>(threads);
}

}  // namespace penstock::layers
