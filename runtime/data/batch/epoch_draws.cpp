#include "runtime/data/batch/epoch_draws.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "runtime/data/batch/sample_hash.h"

namespace penstock::runtime {
namespace {

/// Returns the bits that numbers below `count` need, at least two.
int bits_below(std::uint64_t count) {
  return std::max(2, static_cast<int>(std::bit_width(count > 0 ? count - 1 : 0)));
}

}  // namespace

Permutation::Permutation(std::uint64_t count, std::uint64_t key)
    : count_(count), low_bits_(bits_below(count) / 2), high_bits_(bits_below(count) - low_bits_) {
  for (std::uint64_t round = 0; round < keys_.size(); ++round)
    keys_[round] = sample_hash(SampleKind::permutation, key, {round});
}

// A round swaps the halves and mixes one with a hash of the other, which is invertible for any
// hash. So the network permutes all numbers of high_bits_ + low_bits_ bits. Applying it until the
// result is below `count` permutes the numbers below `count`.
std::uint64_t Permutation::operator()(std::uint64_t place) const {
  do {
    int low_bits = low_bits_, high_bits = high_bits_;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t high = place >> low_bits;
      const std::uint64_t low = place & ((std::uint64_t{1} << low_bits) - 1);
      const std::uint64_t bits = sample_hash(SampleKind::permutation, key, {low});
      place = low << high_bits | (high ^ (bits & ((std::uint64_t{1} << high_bits) - 1)));
      std::swap(low_bits, high_bits);
    }
  } while (place >= count_);
  return place;
}

// An epoch's draws of a part consist of complete passes, whose order does not matter since the
// epoch is sorted afterwards, and a rest. The rest takes the next places of the part's random
// order. For a part of 10 utterances at a rate of 23 draws:
//
//   epoch 0   draws 0 to 22     2 passes, then places 0, 1, 2 of the order
//   epoch 1   draws 23 to 45    2 passes, then places 3, 4, 5
EpochDraws::EpochDraws(const Mixture& mixture, std::uint64_t utterances, const EpochKey& key) {
  if (mixture.empty()) size_ = utterances;
  for (const Mixture::Part& of : mixture.parts()) {
    const std::uint64_t begin = of.before(key.epoch), end = of.before(key.epoch + 1);
    const std::uint64_t count = of.is.utterances;
    const std::uint64_t whole = (end - begin) / count * count;
    const std::uint64_t order = sample_hash(SampleKind::permutation, key.seed, {parts_.size()});
    parts_.push_back({size_, of.first, count, whole, begin % count, Permutation(count, order)});
    size_ += end - begin;
  }
}

Draw EpochDraws::at(std::uint64_t number) const {
  if (parts_.empty()) return {number, 0};
  const Part& part = *std::prev(std::ranges::upper_bound(parts_, number, {}, &Part::first_draw));
  const std::uint64_t n = number - part.first_draw;
  const auto repeat = static_cast<std::uint32_t>(n / part.utterances);
  if (n < part.whole) return {part.first_id + n % part.utterances, repeat};
  const std::uint64_t place = (part.start + n - part.whole) % part.utterances;
  return {part.first_id + part.order(place), repeat};
}

}  // namespace penstock::runtime
