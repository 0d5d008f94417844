#pragma once

#include <cstddef>
#include <vector>

#include "partition/layout/micro_batch_layout.h"

namespace penstock::partition {

/// RangeSizes holds the sizes from which the memory of any choice of recomputed layers follows, for
/// one micro-batch. They are taken from a layout without recomputation.
struct RangeSizes {
  explicit RangeSizes(const MicroBatchLayout& layout, bool splits_backward);

  std::ptrdiff_t slot = 0, carried = 0, workspace = 0;
  /// Bytes in scratch: of gradients, and of gradients with the tensors carried after them.
  std::ptrdiff_t gradients = 0, gradients_and_carried = 0;
  std::vector<std::ptrdiff_t> own;        // for each layer: bytes that its forward saves
  std::vector<std::ptrdiff_t> enters;     // for each layer: bytes of its input
  std::vector<bool> as_input, as_output;  // for each layer: true if it keeps its input, its output
};

}  // namespace penstock::partition
