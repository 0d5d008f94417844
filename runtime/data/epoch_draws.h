#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/mixture.h"
#include "runtime/data/permutation.h"

namespace penstock::runtime {

/// What one epoch of training consists of.
struct EpochKey {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
};

/// An utterance of an epoch. It may be drawn again, as another repeat.
struct Draw {
  std::uint64_t id = 0;
  std::uint32_t repeat = 0;  // from 0
};

/// What random numbers of a draw follow from: of the first repeat, the utterance's id.
template <class Utterance>
constexpr std::uint64_t draw_key(const Utterance& draw) {
  return draw.id | std::uint64_t{draw.repeat} << 32;
}

/// The utterances of an epoch, none of which is kept: looked up by their numbers from 0 on.
///
/// Each part of a mixture has a random order of its own, from the seed, in which epochs go round:
/// one begins behind the last utterance of the one before. So an epoch draws an utterance as often
/// as another of its part or once more, and so do all epochs together.
class EpochDraws {
 public:
  EpochDraws(const Mixture& mixture, std::uint64_t utterances, const EpochKey& key);

  std::uint64_t size() const { return size_; }
  /// Whether a draw's number is its utterance's id.
  bool are_ids() const { return parts_.empty(); }
  Draw at(std::uint64_t number) const;

 private:
  struct Part {
    std::uint64_t first_draw = 0;
    std::uint64_t first_id = 0, utterances = 0;
    std::uint64_t whole = 0;  // draws of which each utterance has as many
    std::uint64_t start = 0;  // of the others, in the part's order
    Permutation order;
  };

  std::uint64_t size_ = 0;
  std::vector<Part> parts_;  // empty: a draw's number is its utterance's id
};

}  // namespace penstock::runtime
