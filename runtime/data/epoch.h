#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"
#include "runtime/data/batching.h"
#include "runtime/data/epoch_draws.h"

namespace penstock::runtime {

/// Micro-batches of an epoch in training order. They hold each utterance once, or as often as
/// EpochDraws says. A speed is sampled for each; utterances of similar length (give or take an
/// eighth) share a micro-batch; micro-batches are shuffled. Depends on its arguments alone. Forming
/// it takes O(n log n) time and 8 bytes an utterance, of which it keeps 4 and 12 a micro-batch.
class Epoch {
 public:
  Epoch(const Lengths& lengths, const configs::DataConfig& data,
        const configs::FeatureConfig& features, const EpochKey& key, const Mixture& mixture = {});
  /// The same, of the same arguments, as bytes() of another process says. DataError if they can't
  /// be of that.
  Epoch(const Lengths& lengths, const configs::DataConfig& data,
        const configs::FeatureConfig& features, const EpochKey& key, const Mixture& mixture,
        std::string_view bytes);

  /// What forming it found, for a process on the same kind of machine.
  std::string bytes() const;

  std::size_t size() const { return batches_.size(); }
  std::int64_t frames(std::size_t batch) const { return batches_[batch].frames; }
  MicroBatch at(std::size_t batch) const;

 private:
  struct Batch {
    std::uint32_t first = 0, count = 0;  // among numbers_
    std::uint32_t frames = 0;
  };

  BatchUtterance shaped(UtteranceShapes& shapes, std::uint64_t number) const;
  double speed(const Draw& draw) const;
  std::uint64_t jitter(std::uint64_t key) const;
  std::vector<std::uint64_t> by_length() const;
  void settle_ties(std::span<std::uint64_t> sorted, int number_bits, int shift) const;
  void cut(const std::vector<std::uint64_t>& frames_and_numbers);
  void shuffle();

  Lengths lengths_;
  configs::DataConfig data_;
  configs::FeatureConfig features_;
  EpochKey key_;
  EpochDraws draws_;
  std::vector<std::uint32_t> numbers_;  // of draws, by length
  std::vector<Batch> batches_;
};

/// All of an epoch at once.
[[nodiscard]] std::vector<MicroBatch> training_batches(const Lengths&, const configs::DataConfig&,
                                                       const configs::FeatureConfig&,
                                                       const EpochKey&, const Mixture& = {});

}  // namespace penstock::runtime
