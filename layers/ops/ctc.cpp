#include "layers/ops/ctc.h"

#include "layers/cpu/sizes.h"
#include "layers/cuda/training/ctc_sizes.h"
#include "layers/ops/targets.h"

namespace penstock::layers {

void expect_targets_that_fit(const CtcLoss& op) {
  expect_targets_of(op.targets, op.lengths, "CTC");
  expect_labels_below(op.targets, op.logits_FC.shape[1], "CTC");
}

// CTC merges repeats, so equal neighbours need a blank between them: "aab" takes four frames, a-ab.
std::int64_t ctc_frames_needed(std::span<const std::int32_t> labels) {
  auto needed = static_cast<std::int64_t>(labels.size());  // and a blank between equal ones
  for (std::size_t i = 1; i < labels.size(); ++i) needed += labels[i] == labels[i - 1];
  return needed;
}

std::size_t ctc_workspace(const BackendSizes& sizes, std::span<const std::int64_t> lengths,
                          std::int64_t classes) {
  return sizes.device == DeviceKind::cuda ? cuda::ctc_workspace(lengths, classes)
                                          : cpu::ctc_workspace(lengths, classes, sizes.compute);
}

}  // namespace penstock::layers
