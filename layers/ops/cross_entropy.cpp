#include "layers/ops/cross_entropy.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/cuda/training/cross_entropy_sizes.h"
#include "layers/ops/targets.h"

namespace penstock::layers {

void expect_rows_that_fit(const CrossEntropySums& op) {
  expect_targets_of(op.targets, op.lengths, "cross-entropy");
  const std::int64_t rows = std::accumulate(op.lengths.begin(), op.lengths.end(), std::int64_t{0});
  const bool factors = op.factors_R.data != nullptr;
  if (op.losses_R.size() != rows || (factors && op.factors_R.size() != rows))
    throw ShapeError(fmt::format("cross-entropy was given {} and {}, but its utterances have {}",
                                 counted(op.losses_R.size(), "loss", "losses"),
                                 counted(factors ? op.factors_R.size() : 0, "factor"),
                                 counted(rows, "row")));
}

// The CPU adds up in place.
std::size_t cross_entropy_workspace(DeviceKind device, std::size_t utterances) {
  return device == DeviceKind::cuda ? cuda::cross_entropy_workspace(utterances) : 0;
}

}  // namespace penstock::layers
