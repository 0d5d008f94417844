#pragma once

#include <cstdint>

#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

/// Utterances of noise with lengths spread evenly over [0.5, 1] × `seconds` and 12 labels a
/// second.
struct SyntheticOptions {
  int micro_batches = 1;
  int utterances = 8;  // of each micro-batch
  double seconds = 4;
  double frames_per_second = 100;
  int labels = 29;  // blank included
  std::uint64_t seed = 0;
};

StepWork synthetic_work(const SyntheticOptions& options);

/// Standard normal features that depend on (seed, micro-batch, place) alone.
ReadFeatures synthetic_features(std::uint64_t seed);

/// Seconds of audio that `work` stands for.
double audio_seconds(const StepWork& work, double frames_per_second);

}  // namespace penstock::runtime
