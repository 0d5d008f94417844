#pragma once

#include <cstdint>
#include <vector>

#include "runtime/corpus/corpus.h"
#include "runtime/data/batch/steps.h"
#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

// These functions make the work of steps, from a corpus or from noise.

/// The lanes [first, first + count) of a step, which belong to one replica.
struct LaneShare {
  int first = 0, count = 1;
};

/// Returns the lanes of a replica. Element r of `lanes_of` is the number of lanes of replica r.
[[nodiscard]] LaneShare lane_share(const std::vector<int>& lanes_of, int replica);

/// Returns a replica's work of a training step. Labels are copied only if `with_labels` is set.
StepWork training_work(const StepBatches& step, const Corpus& corpus, std::uint64_t seed,
                       const LaneShare& share, bool with_labels);

/// Returns the work of one of `replicas` replicas in a pass over `batches`, dealt round-robin.
StepWork evaluation_work(const std::vector<MicroBatch>& batches, const Corpus& corpus, int replica,
                         int replicas, bool with_labels);

/// Returns the micro-batches of `work`, in the order in which a loader reads them.
std::vector<MicroBatch> batches_of(const StepWork& work, const std::vector<MicroBatch>& all);

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
