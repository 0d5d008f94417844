#include "runtime/data/batch/epoch_draws.h"

#include <algorithm>
#include <iterator>

#include "runtime/data/batch/sample_hash.h"

namespace penstock::runtime {

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
