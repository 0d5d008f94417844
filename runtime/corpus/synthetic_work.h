#pragma once

#include <cstdint>

#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

/// Options of noise utterances. Their lengths are spread evenly over [0.5, 1] × `seconds`, and they
/// have 12 labels per second.
struct SyntheticOptions {
  int micro_batches = 1;
  int utterances = 8;  // per micro-batch
  double seconds = 4;
  double frames_per_second = 100;
  int labels = 29;  // including the blank
  std::uint64_t seed = 0;
};

StepWork synthetic_work(const SyntheticOptions& options);

/// Returns standard normal features that depend on (seed, micro-batch, place) alone.
ReadFeatures synthetic_features(std::uint64_t seed);

/// Returns the seconds of audio that `work` represents.
double audio_seconds(const StepWork& work, double frames_per_second);

}  // namespace penstock::runtime
