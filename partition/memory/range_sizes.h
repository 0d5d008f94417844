#pragma once

#include <cstddef>
#include <vector>

#include "partition/model/micro_batch_layout.h"

namespace penstock::partition {

/// What hangs on which layers of a range are recomputed in training, of one micro-batch: bytes of a
/// layout in which none are.
struct RangeSizes {
  explicit RangeSizes(const MicroBatchLayout& layout, bool splits_backward);

  std::ptrdiff_t slot = 0, carried = 0, workspace = 0;
  std::ptrdiff_t gradients = 0, behind_gradients = 0;  // in scratch: gradients, and what is carried
  std::vector<std::ptrdiff_t> own;                     // of each layer: what its forward saves
  std::vector<std::ptrdiff_t> enters;                  // of each layer: bytes of its input
  std::vector<bool> as_input, as_output;  // of each layer: kept as it says of its input, output
};

}  // namespace penstock::partition
