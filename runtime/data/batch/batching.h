#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "configs/config.h"
#include "runtime/data/audio/audio.h"
#include "runtime/data/audio/features.h"
#include "runtime/data/audio/resample.h"
#include "runtime/data/batch/even_cut.h"
#include "runtime/data/index/lengths.h"

namespace penstock::runtime {

/// An utterance as a training step uses it.
struct BatchUtterance {
  std::uint64_t id = 0;      // index in the corpus
  double speed = 1;          // playback speed factor
  std::int64_t samples = 0;  // at the features' rate and this speed
  std::int64_t frames = 0;   // feature frames
  std::uint32_t repeat = 0;  // counts the draws of this utterance within one epoch, from 0
  bool operator==(const BatchUtterance&) const = default;
};

/// Utterances that pass through the pipeline stages together, in the order of their frames in x_FC.
struct MicroBatch {
  std::vector<BatchUtterance> utterances;

  std::int64_t frames() const;
  bool operator==(const MicroBatch&) const = default;
};

/// Computes an utterance's samples and frames at `speed`. Uses integer arithmetic, so every rank
/// gets the same result. Throws DataError like resampling().
BatchUtterance shape_utterance(std::uint64_t id, const AudioLength& length, double speed,
                               const configs::FeatureConfig&);

/// Calls shape_utterance() for many utterances and caches what does not depend on their length. Not
/// thread-safe.
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
  std::optional<FeatureFrames> frames_;  // set by the first utterance
  std::vector<Ratio> ratios_;
};

/// Converts data.micro_batch_seconds and data.micro_batch_utterances into frames and utterances.
[[nodiscard]] MicroBatchBounds micro_batch_bounds(const configs::DataConfig&,
                                                  const configs::FeatureConfig&);

/// Cuts the utterances into micro-batches; see EvenCut.
[[nodiscard]] std::vector<MicroBatch> cut_evenly(const std::vector<BatchUtterance>&,
                                                 const MicroBatchBounds&);

/// Returns the micro-batches of validation, evaluation and transcription: speed 1, sorted by
/// length, shortest first.
[[nodiscard]] std::vector<MicroBatch> evaluation_batches(const Lengths&, const configs::DataConfig&,
                                                         const configs::FeatureConfig&);

}  // namespace penstock::runtime
