#include "layers/tensor/cuda_versions.h"

#include <fmt/format.h>

namespace penstock::layers {

// CUDA's number is 1000 · major + 10 · minor.
std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace penstock::layers
