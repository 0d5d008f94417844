#pragma once

#include <cstdint>
#include <vector>

#include "configs/config.h"
#include "runtime/data/audio.h"

namespace penstock::runtime {

/// An utterance as a step sees it.
struct BatchUtterance {
  std::uint64_t id = 0;      // place in the corpus
  double speed = 1;          // by which it is played faster
  std::int64_t samples = 0;  // at the features' rate and this speed
  std::int64_t frames = 0;   // of features
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

/// Limits of one micro-batch.
struct MicroBatchBounds {
  std::int64_t frames = 0;
  std::int64_t utterances = 0;  // 0: no limit
};

/// From data.micro_batch_seconds and data.micro_batch_utterances.
[[nodiscard]] MicroBatchBounds micro_batch_bounds(const configs::DataConfig&,
                                                  const configs::FeatureConfig&);

/// Cuts the utterances, in their order, into as few micro-batches as the bounds allow, and among
/// those cuts takes one whose largest micro-batch is smallest. An utterance beyond the bound of
/// frames is alone.
[[nodiscard]] std::vector<MicroBatch> cut_evenly(const std::vector<BatchUtterance>&,
                                                 const MicroBatchBounds&);

/// What one epoch of training consists of.
struct EpochKey {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
};

/// Micro-batches of an epoch in training order, each utterance once. A speed is sampled for each;
/// utterances of similar length (give or take an eighth) share a micro-batch; micro-batches are
/// shuffled. Depends on its arguments alone.
[[nodiscard]] std::vector<MicroBatch> training_batches(const std::vector<AudioLength>&,
                                                       const configs::DataConfig&,
                                                       const configs::FeatureConfig&,
                                                       const EpochKey&);

/// Micro-batches for validation, evaluation and transcription: speed 1, by length, shortest first.
[[nodiscard]] std::vector<MicroBatch> evaluation_batches(const std::vector<AudioLength>&,
                                                         const configs::DataConfig&,
                                                         const configs::FeatureConfig&);

}  // namespace penstock::runtime
