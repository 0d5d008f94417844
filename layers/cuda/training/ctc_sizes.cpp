#include "layers/cuda/training/ctc_sizes.h"

#include <algorithm>

namespace penstock::layers::cuda {
namespace {

/// Returns an upper bound of the sums of all utterances together. It depends on the frames and the
/// longest utterance alone, so that a planned workspace holds for all micro-batches of these.
std::int64_t sums_of(std::span<const std::int64_t> lengths) {
  if (lengths.empty()) return 0;
  const std::int64_t rows = rows_of(lengths), longest = *std::ranges::max_element(lengths);
  return rows * longest / 2 + rows;
}

}  // namespace

CtcWorkspace::CtcWorkspace(Scratch& scratch, std::span<const std::int64_t> lengths,
                           std::int64_t classes)
    : map(scratch, lengths),
      utterances(scratch.take<CtcUtterance>(static_cast<std::int64_t>(lengths.size()))),
      labels(scratch.take<std::int32_t>(rows_of(lengths))),
      losses(scratch.take<double>(static_cast<std::int64_t>(lengths.size()))),
      log_probabilities(scratch.take<float>(rows_of(lengths) * classes)),
      from_start(scratch.take<float>(sums_of(lengths))),
      from_end(scratch.take<float>(sums_of(lengths))) {}

std::size_t ctc_workspace(std::span<const std::int64_t> lengths, std::int64_t classes) {
  Scratch counted;
  CtcWorkspace(counted, lengths, classes);
  return counted.used();
}

}  // namespace penstock::layers::cuda
