#include "layers/cpu/halves/half_backend.h"

namespace penstock::layers {

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  return std::make_unique<HalfCpuBackend>(threads);
}

}  // namespace penstock::layers
