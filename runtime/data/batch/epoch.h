#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"
#include "runtime/data/batch/batching.h"
#include "runtime/data/batch/epoch_draws.h"

namespace penstock::runtime {

/// The micro-batches of an epoch in training order. They hold each utterance once, or as often as
/// EpochDraws draws it. Each utterance gets a sampled speed. Utterances of similar length (within
/// an eighth) share a micro-batch, and the micro-batches are shuffled. The first epoch begins with
/// the data.short_first shortest in ascending order instead: SortaGrad (Amodei et al. 2015,
/// arXiv:1512.02595). The result depends on the arguments alone. Forming an epoch takes O(n log n)
/// time and 8 bytes per utterance; it keeps 4 bytes per utterance and 12 per micro-batch.
class Epoch {
 public:
  Epoch(const Lengths& lengths, const configs::DataConfig& data,
        const configs::FeatureConfig& features, const EpochKey& key, const Mixture& mixture = {});
  /// Restores an epoch that another process formed from the same arguments, from its bytes().
  /// Throws DataError if the size of `bytes` does not fit the arguments.
  Epoch(const Lengths& lengths, const configs::DataConfig& data,
        const configs::FeatureConfig& features, const EpochKey& key, const Mixture& mixture,
        std::string_view bytes);

  /// Returns the formed epoch in the machine's byte order, for another process.
  std::string bytes() const;

  std::size_t size() const { return batches_.size(); }
  std::int64_t frames(std::size_t batch) const { return batches_[batch].frames; }
  MicroBatch at(std::size_t batch) const;

  /// Returns how many utterances the epoch draws, each as often as it is drawn.
  std::uint64_t draws() const { return draws_.size(); }
  /// Returns a draw by its number, in the order of manifests and not of micro-batches. Without a
  /// mixture, the number is the utterance's id.
  BatchUtterance drawn(std::uint64_t number) const;

 private:
  struct Batch {
    std::uint32_t first = 0, count = 0;  // a range of numbers_
    std::uint32_t frames = 0;
  };

  BatchUtterance shaped(UtteranceShapes& shapes, std::uint64_t number) const;
  double speed(const Draw& draw) const;
  std::uint64_t jitter(std::uint64_t key) const;
  std::vector<std::uint64_t> by_length() const;
  void settle_ties(std::span<std::uint64_t> sorted, int number_bits, int shift) const;
  void cut(const std::vector<std::uint64_t>& frames_and_numbers);
  void shuffle(std::size_t begin);
  std::size_t sorted_batches() const;

  Lengths lengths_;
  configs::DataConfig data_;
  configs::FeatureConfig features_;
  EpochKey key_;
  EpochDraws draws_;
  std::vector<std::uint32_t> numbers_;  // numbers of draws, sorted by length
  std::vector<Batch> batches_;
};

/// Returns all micro-batches of an epoch at once.
[[nodiscard]] std::vector<MicroBatch> training_batches(const Lengths&, const configs::DataConfig&,
                                                       const configs::FeatureConfig&,
                                                       const EpochKey&, const Mixture& = {});

}  // namespace penstock::runtime
