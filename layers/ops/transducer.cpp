#include "layers/ops/transducer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "layers/cpu/sizes.h"
#include "layers/cuda/transducer/lattice_sizes.h"
#include "layers/ops/targets.h"

namespace penstock::layers {
namespace {

constexpr const char* kName = "the transducer";

}  // namespace

void expect_transducer_durations(std::span<const std::int32_t> durations) {
  if (durations.size() > kMaxDurations)
    throw ShapeError(fmt::format("{} was given {} durations; it takes at most {}", kName,
                                 durations.size(), kMaxDurations));
  std::int32_t before = -1;
  for (const std::int32_t duration : durations) {
    if (duration <= before)
      throw ShapeError(fmt::format("{} was given duration {} after {}; durations ascend from 0 on",
                                   kName, duration, before));
    before = duration;
  }
  if (before == 0)
    throw ShapeError(
        fmt::format("{} has no duration but 0, so no frame ends; add one of 1 or more", kName));
}

// An RNN-T is a pair of arcs without a score of its own: a blank takes one frame, and a label none.
TransducerArcs arcs_of(const TransducerLattice& op) {
  expect_targets_of(op.targets, op.lengths, kName);
  expect_transducer_durations(op.durations);
  const std::int64_t cells = transducer_cells(op.lengths, op.targets.lengths);
  const auto scores = 2 + static_cast<std::int64_t>(op.durations.size());
  if (op.scores_CS.shape != Shape{cells, scores})
    throw ShapeError(fmt::format("{} was given scores of shape [{}], but {} cells have {} each",
                                 kName, fmt::join(op.scores_CS.shape, ", "), cells, scores));
  TransducerArcs arcs{};
  arcs.timed = !op.durations.empty();
  if (!arcs.timed) arcs.blank[arcs.pairs++] = 1;
  for (const std::int32_t duration : op.durations) {
    arcs.blank[arcs.pairs] = duration;
    arcs.label[arcs.pairs++] = duration;
  }
  return arcs;
}

void expect_transducer_targets(const Targets& targets, std::span<const std::int64_t> lengths,
                               std::int64_t tokens) {
  expect_targets_of(targets, lengths, kName);
  expect_labels_below(targets, tokens, kName);
}

std::int64_t transducer_cells(std::span<const std::int64_t> lengths,
                              std::span<const std::int32_t> labels) {
  std::int64_t cells = 0;
  for (std::size_t u = 0; u < lengths.size(); ++u) cells += lengths[u] * (labels[u] + 1);
  return cells;
}

std::size_t transducer_lattice_workspace(DeviceKind device, std::span<const std::int64_t> lengths,
                                         std::span<const std::int32_t> labels) {
  return device == DeviceKind::cuda ? cuda::transducer_lattice_workspace(lengths, labels)
                                    : cpu::transducer_lattice_workspace(lengths, labels);
}

}  // namespace penstock::layers
