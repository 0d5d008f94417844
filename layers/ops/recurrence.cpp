#include "layers/ops/recurrence.h"

#include <numeric>

#include "layers/cpu/sizes.h"
#include "layers/cuda/recurrence/recurrence_sizes.h"

namespace penstock::layers {

std::int64_t RecurrenceShape::frames() const {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

std::int64_t RecurrenceShape::gates() const {
  switch (kind) {
    case RecurrenceKind::tanh:
      return 1;
    case RecurrenceKind::gru:
      return 3;
    case RecurrenceKind::lstm:
      return 4;
  }
  return 0;
}

std::int64_t RecurrenceShape::kept() const { return kind == RecurrenceKind::tanh ? 1 : 4; }

Workspace recurrence_workspace(const BackendSizes& sizes, const RecurrenceShape& shape) {
  return sizes.device == DeviceKind::cuda ? cuda::recurrence_workspace(shape, sizes.compute)
                                          : cpu::recurrence_workspace(shape, sizes.compute);
}

}  // namespace penstock::layers
