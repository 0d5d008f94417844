#include "layers/ops/attention.h"

#include <algorithm>

#include "layers/cpu/sizes.h"
#include "layers/cuda/attention/attention_sizes.h"

namespace penstock::layers {

// The longest utterance decides how many distances there are: n frames differ by -(n - 1) to n - 1.
// Shorter utterances use the rows in the middle.
std::int64_t AttentionGeometry::longest() const {
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

std::int64_t AttentionGeometry::most_keys() const {
  return keys().empty() ? 0 : *std::ranges::max_element(keys());
}

std::int64_t AttentionGeometry::distances() const {
  return std::max<std::int64_t>(0, 2 * longest() - 1);
}

// The planned device decides, not this machine's, so a build without CUDA plans for CUDA too.
Workspace attention_workspace(const BackendSizes& sizes, const AttentionGeometry& geometry,
                              bool relative) {
  return sizes.device == DeviceKind::cuda
             ? cuda::attention_workspace(geometry, relative, sizes.compute)
             : cpu::attention_workspace(geometry, relative, sizes.compute);
}

}  // namespace penstock::layers
