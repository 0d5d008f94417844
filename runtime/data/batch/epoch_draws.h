#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/data/batch/mixture.h"

namespace penstock::runtime {

/// A random order of 0 … count - 1 that is computed on demand, not stored. A Feistel network of
/// four rounds permutes the numbers below the next power of two. It is applied again to results of
/// `count` or more ("cycle walking", Black and Rogaway, 2002). The result depends on the arguments
/// alone.
class Permutation {
 public:
  Permutation(std::uint64_t count, std::uint64_t key);

  /// Returns the element at a place below `count`. Distinct places have distinct elements.
  std::uint64_t operator()(std::uint64_t place) const;

 private:
  std::uint64_t count_;
  int low_bits_, high_bits_;
  std::array<std::uint64_t, 4> keys_{};  // an even number, so that the halves regain their sizes
};

/// Identifies one epoch of a training run.
struct EpochKey {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
};

/// One draw of an utterance. An epoch may draw an utterance again, as another repeat.
struct Draw {
  std::uint64_t id = 0;
  std::uint32_t repeat = 0;  // counted from 0
};

/// The key from which a draw's random numbers derive. For the first repeat it is the utterance's
/// id.
template <class Utterance>
constexpr std::uint64_t draw_key(const Utterance& draw) {
  return draw.id | std::uint64_t{draw.repeat} << 32;
}

/// The utterances that an epoch draws, computed on demand from the numbers 0 … size() - 1.
///
/// Each part of a mixture has a random order of its own, derived from the seed. Epochs cycle
/// through that order: each begins after the last utterance of the epoch before it. So, within an
/// epoch and over all epochs, the draws of two utterances of a part differ by at most one.
class EpochDraws {
 public:
  EpochDraws(const Mixture& mixture, std::uint64_t utterances, const EpochKey& key);

  std::uint64_t size() const { return size_; }
  /// True if a draw's number is its utterance's id.
  bool are_ids() const { return parts_.empty(); }
  Draw at(std::uint64_t number) const;

 private:
  struct Part {
    std::uint64_t first_draw = 0;
    std::uint64_t first_id = 0, utterances = 0;
    std::uint64_t whole = 0;  // draws in complete passes over the part's utterances
    std::uint64_t start = 0;  // where the remaining draws begin in the part's order
    Permutation order;
  };

  std::uint64_t size_ = 0;
  std::vector<Part> parts_;  // empty: a draw's number is its utterance's id
};

}  // namespace penstock::runtime
