#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/cuda/core/utterances_sizes.h"
#include "layers/scratch.h"

namespace penstock::layers::cuda {

/// An utterance as CTC's kernels see it.
struct CtcUtterance {
  std::int64_t first_row = 0, frames = 0;
  std::int64_t first_label = 0, labels = 0;
  std::int64_t first_sum = 0;  // start of its bands in CtcWorkspace::from_start and from_end
  bool feasible = false;       // enough frames for its labels; else neither loss nor gradient
};

/// Parts of CtcLoss's workspace on a CUDA device.
struct CtcWorkspace {
  CtcWorkspace(Scratch& scratch, std::span<const std::int64_t> lengths, std::int64_t classes);

  UtterancesWorkspace map;
  CtcUtterance* utterances;
  std::int32_t* labels;  // of feasible utterances, which have no more labels than frames
  double* losses;
  float* log_probabilities;      // frames × classes
  float *from_start, *from_end;  // sums over paths, band after band
};

/// Returns an upper bound of the numbers in the bands of an utterance of so many frames. With L
/// labels they are 2 L (frames - L) + frames.
constexpr std::int64_t max_sums(std::int64_t frames) { return frames * frames / 2 + frames; }

std::size_t ctc_workspace(std::span<const std::int64_t> lengths, std::int64_t classes);

}  // namespace penstock::layers::cuda
