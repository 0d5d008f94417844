#include "layers/cuda/sizes/ctc.h"

namespace penstock::cuda {
namespace {

std::int64_t sums_of(std::span<const std::int64_t> lengths) {
  std::int64_t sums = 0;
  for (std::int64_t frames : lengths) sums += most_sums(frames);
  return sums;
}

}  // namespace

CtcRoom::CtcRoom(Scratch& scratch, std::span<const std::int64_t> lengths, std::int64_t classes)
    : map(scratch, lengths),
      utterances(scratch.take<CtcUtterance>(static_cast<std::int64_t>(lengths.size()))),
      labels(scratch.take<std::int32_t>(rows_of(lengths))),
      losses(scratch.take<double>(static_cast<std::int64_t>(lengths.size()))),
      log_probabilities(scratch.take<float>(rows_of(lengths) * classes)),
      from_start(scratch.take<float>(sums_of(lengths))),
      from_end(scratch.take<float>(sums_of(lengths))) {}

std::size_t ctc_workspace(std::span<const std::int64_t> lengths, std::int64_t classes) {
  Scratch counted;
  CtcRoom(counted, lengths, classes);
  return counted.used();
}

}  // namespace penstock::cuda
