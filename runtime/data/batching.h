#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "configs/config.h"
#include "runtime/data/audio.h"
#include "runtime/data/even_cut.h"
#include "runtime/data/features.h"
#include "runtime/data/lengths.h"
#include "runtime/data/resample.h"

namespace penstock::runtime {

/// An utterance as a step sees it.
struct BatchUtterance {
  std::uint64_t id = 0;      // place in the corpus
  double speed = 1;          // by which it is played faster
  std::int64_t samples = 0;  // at the features' rate and this speed
  std::int64_t frames = 0;   // of features
  std::uint32_t repeat = 0;  // in its epoch, where that draws it more than once
  bool operator==(const BatchUtterance&) const = default;
};

/// Utterances that pass through the stages together, in the order of their frames in x_FC.
struct MicroBatch {
  std::vector<BatchUtterance> utterances;

  std::int64_t frames() const;
  bool operator==(const MicroBatch&) const = default;
};

/// What `length` becomes: integer arithmetic, the same on every rank. DataError as resampling().
BatchUtterance shape_utterance(std::uint64_t id, const AudioLength& length, double speed,
                               const configs::FeatureConfig&);

/// shape_utterance() of many: what samples do not change is found once. Not for two threads at
/// once.
class UtteranceShapes {
 public:
  explicit UtteranceShapes(const configs::FeatureConfig& features) : features_(features) {}
  BatchUtterance operator()(std::uint64_t id, const AudioLength& length, double speed);

 private:
  struct Ratio {
    int rate = 0;
    double speed = 0;
    Resampling resampling;
  };
  const configs::FeatureConfig& features_;
  std::optional<FeatureFrames> frames_;  // from the first utterance on
  std::vector<Ratio> ratios_;
};

/// From data.micro_batch_seconds and data.micro_batch_utterances.
[[nodiscard]] MicroBatchBounds micro_batch_bounds(const configs::DataConfig&,
                                                  const configs::FeatureConfig&);

/// The utterances as micro-batches, see EvenCut.
[[nodiscard]] std::vector<MicroBatch> cut_evenly(const std::vector<BatchUtterance>&,
                                                 const MicroBatchBounds&);

/// Micro-batches for validation, evaluation and transcription: speed 1, by length, shortest first.
[[nodiscard]] std::vector<MicroBatch> evaluation_batches(const Lengths&, const configs::DataConfig&,
                                                         const configs::FeatureConfig&);

}  // namespace penstock::runtime
