#pragma once

#include <cstdint>

#include "runtime/data/batch/sample_hash.h"

namespace penstock::runtime {

/// The draw of an utterance in training, which determines its random numbers with the seed.
struct UtteranceDraw {
  std::int64_t epoch = 0;
  std::uint64_t id = 0;      // index in the corpus
  std::uint32_t repeat = 0;  // counts its draws within one epoch
};

/// Random numbers of one draw for one purpose. Each is a hash of the purpose, the seed, the draw
/// and a count, so no generator has a state, and no effect disturbs the numbers of another.
class DrawNumbers {
 public:
  DrawNumbers(SampleKind kind, std::uint64_t seed, const UtteranceDraw& draw)
      : kind_(kind), seed_(seed), draw_(draw) {}

  /// Returns a number from 0 to below 1.
  double next();
  /// Returns a whole number from `first` to `last`.
  std::int64_t between(std::int64_t first, std::int64_t last);
  /// Returns a number from `low` to below `high`.
  double within(double low, double high) { return low + next() * (high - low); }

 private:
  SampleKind kind_;
  std::uint64_t seed_;
  UtteranceDraw draw_;
  std::uint64_t count_ = 0;
};

}  // namespace penstock::runtime
