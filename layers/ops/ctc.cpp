#include "layers/ops/ctc.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/cpu/sizes.h"
#include "layers/cuda/training/ctc_sizes.h"

namespace penstock::layers {

// Labels come from files and lengths from their reader. Kernels index by both without a check, so
// all is checked here, on the host, once for each micro-batch.
void expect_targets_that_fit(const CtcLoss& op) {
  const Targets& targets = op.targets;
  const std::size_t utterances = op.lengths.size();
  if (targets.lengths.size() != utterances || targets.weights.size() != utterances ||
      targets.losses.size() != utterances)
    throw ShapeError(fmt::format("CTC was given {}, labels of {}, weights of {} and losses of {}",
                                 counted(utterances, "utterance"), targets.lengths.size(),
                                 targets.weights.size(), targets.losses.size()));
  std::size_t labels = 0;
  for (std::int32_t count : targets.lengths) labels += static_cast<std::size_t>(count);
  if (labels != targets.labels.size())
    throw ShapeError(fmt::format("CTC was given {}, but its utterances' lengths add up to {}",
                                 counted(targets.labels.size(), "label"), labels));
  const auto classes = static_cast<std::int32_t>(op.logits_FC.shape[1]);
  for (std::int32_t label : targets.labels)
    if (label < 1 || label >= classes)
      throw ShapeError(
          fmt::format("CTC label {} is not among the classes 1 to {}", label, classes - 1));
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
