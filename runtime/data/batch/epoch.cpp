#include "runtime/data/batch/epoch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/batch/sample_hash.h"

namespace penstock::runtime {
namespace {

// Forming an epoch is a sort by jittered length followed by a cut. The frames of a draw are
// multiplied by a random factor from 1 to 1.125 and packed with the draw's number into 64 bits. One
// sort of integers then groups utterances of similar length. Where the packed lengths agree,
// settle_ties() compares the whole length, then a random tie, then the number. EvenCut cuts the
// sorted list into micro-batches, and shuffle() orders these by a hash of their first draw, but for
// those that data.short_first leaves sorted. Every random number is a hash of seed, epoch and draw,
// so all ranks form the same epoch.

constexpr std::uint64_t kUnits = 1024, kJitter = kUnits / 8;

/// The key by which utterances are sorted first. A random tie and their numbers follow. With the
/// jitter, an utterance has other neighbours in each epoch, of similar length nevertheless.
std::uint64_t jittered(std::int64_t frames, std::uint64_t bits) {
  return static_cast<std::uint64_t>(frames) * (kUnits + bits % kJitter);
}

constexpr int kNumberBits = 32;  // bits of the draw's number, below its frames

std::uint64_t number_of(std::uint64_t frames_and_number) { return frames_and_number & 0xffffffff; }

}  // namespace

Epoch::Epoch(const Lengths& lengths, const configs::DataConfig& data,
             const configs::FeatureConfig& features, const EpochKey& key, const Mixture& mixture)
    : lengths_(lengths),
      data_(data),
      features_(features),
      key_(key),
      draws_(mixture, lengths.size(), key) {
  cut(by_length());
  shuffle(sorted_batches());
}

Epoch::Epoch(const Lengths& lengths, const configs::DataConfig& data,
             const configs::FeatureConfig& features, const EpochKey& key, const Mixture& mixture,
             std::string_view bytes)
    : lengths_(lengths),
      data_(data),
      features_(features),
      key_(key),
      draws_(mixture, lengths.size(), key),
      numbers_(draws_.size()) {
  const std::size_t of_numbers = numbers_.size() * sizeof numbers_[0];
  if (bytes.size() < of_numbers || (bytes.size() - of_numbers) % sizeof(Batch) != 0)
    throw DataError(fmt::format("{} bytes are not an epoch of {}", bytes.size(),
                                counted(std::ssize(numbers_), "utterance")));
  batches_.resize((bytes.size() - of_numbers) / sizeof(Batch));
  bytes.copy(reinterpret_cast<char*>(numbers_.data()), of_numbers);
  bytes.substr(of_numbers)
      .copy(reinterpret_cast<char*>(batches_.data()), batches_.size() * sizeof(Batch));
}

// The bytes are the numbers of draws, 4 bytes each, then the batches, 12 bytes each. The counts are
// not stated: the first follows from the arguments, the second from the size.
std::string Epoch::bytes() const {
  std::string bytes;
  bytes.reserve(numbers_.size() * sizeof numbers_[0] + batches_.size() * sizeof(Batch));
  bytes.append(reinterpret_cast<const char*>(numbers_.data()),
               numbers_.size() * sizeof numbers_[0]);
  bytes.append(reinterpret_cast<const char*>(batches_.data()), batches_.size() * sizeof(Batch));
  return bytes;
}

double Epoch::speed(const Draw& draw) const {
  const auto epoch = static_cast<std::uint64_t>(key_.epoch);
  return data_.speeds[sample_hash(SampleKind::speed, key_.seed, {epoch, draw_key(draw)}) %
                      data_.speeds.size()];
}

/// Returns the random bits of the draw with this draw_key().
std::uint64_t Epoch::jitter(std::uint64_t key) const {
  return sample_hash(SampleKind::length_jitter, key_.seed,
                     {static_cast<std::uint64_t>(key_.epoch), key});
}

BatchUtterance Epoch::shaped(UtteranceShapes& shapes, std::uint64_t number) const {
  const Draw draw = draws_.at(number);
  BatchUtterance utterance = shapes(draw.id, lengths_[draw.id], speed(draw));
  utterance.repeat = draw.repeat;
  return utterance;
}

/// Returns the frames (upper half) and the number (lower half) of every draw, sorted by jittered
/// length, tie and number. In the first half of this function, an item is a jittered length above a
/// number; in the second, frames above a number:
///
///   sorted by       jittered length >> shift   |  number of number_bits
///   returned        frames, 32 bits            |  number, 32 bits
///
/// The jittered length is divided by its factor again to find the frames, unless bits were shifted
/// out; then the frames are computed anew. So one array of n items suffices.
std::vector<std::uint64_t> Epoch::by_length() const {
  UtteranceShapes shapes(features_);
  const std::size_t count = draws_.size();
  std::vector<std::uint64_t> sorted(count);
  std::uint64_t largest = 0;
  const auto take = [&](std::uint64_t number, const BatchUtterance& utterance) {
    sorted[number] = jittered(utterance.frames, jitter(draw_key(utterance)));
    largest = std::max(largest, sorted[number]);
  };
  if (draws_.are_ids())
    lengths_.for_each([&](std::uint64_t id, const AudioLength& length) {
      take(id, shapes(id, length, speed({.id = id})));
    });
  else
    for (std::uint64_t number = 0; number < count; ++number) take(number, shaped(shapes, number));
  // Each 64-bit integer holds the draw's number and, above it, as many high bits of the length as
  // fit.
  const int number_bits = static_cast<int>(std::bit_width(count));
  const int shift = std::max(0, static_cast<int>(std::bit_width(largest)) + number_bits - 64);
  for (std::uint64_t number = 0; number < count; ++number)
    sorted[number] = sorted[number] >> shift << number_bits | number;
  std::ranges::sort(sorted);
  settle_ties(sorted, number_bits, shift);

  const std::uint64_t numbers = (std::uint64_t{1} << number_bits) - 1;
  for (std::uint64_t& item : sorted) {
    const std::uint64_t number = item & numbers;
    const auto frames = shift > 0 ? static_cast<std::uint64_t>(shaped(shapes, number).frames)
                                  : (item >> number_bits) /
                                        (kUnits + jitter(draw_key(draws_.at(number))) % kJitter);
    item = std::min(frames, std::uint64_t{0xffffffff}) << kNumberBits | number;
  }
  return sorted;
}

/// Sorts the draws whose bits above the number agree, by the whole length, the tie and then the
/// number.
void Epoch::settle_ties(std::span<std::uint64_t> sorted, int number_bits, int shift) const {
  UtteranceShapes shapes(features_);
  const std::uint64_t numbers = (std::uint64_t{1} << number_bits) - 1;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> tied;
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && sorted[end] >> number_bits == sorted[begin] >> number_bits) ++end;
    if (end - begin == 1) continue;
    tied.clear();
    for (const std::uint64_t item : sorted.subspan(begin, end - begin)) {
      const std::uint64_t number = item & numbers, bits = jitter(draw_key(draws_.at(number)));
      const std::uint64_t length = shift > 0 ? jittered(shaped(shapes, number).frames, bits) : 0;
      tied.emplace_back(length, bits, item);
    }
    std::ranges::sort(tied);
    for (std::size_t i = 0; i < tied.size(); ++i) sorted[begin + i] = std::get<2>(tied[i]);
  }
}

// EvenCut works on frames alone and names the first item of each group. The frames are not kept
// after the cut, except their sum over a batch.
void Epoch::cut(const std::vector<std::uint64_t>& frames_and_numbers) {
  const auto frames_of = [&](std::size_t i) {
    return static_cast<std::int64_t>(frames_and_numbers[i] >> kNumberBits);
  };
  const std::vector<std::size_t> starts =
      EvenCut(frames_and_numbers.size(), frames_of).starts(micro_batch_bounds(data_, features_));
  numbers_.reserve(frames_and_numbers.size());
  for (const std::uint64_t item : frames_and_numbers)
    numbers_.push_back(static_cast<std::uint32_t>(number_of(item)));
  batches_.resize(starts.size());
  for (std::size_t b = 0; b < starts.size(); ++b) {
    const std::size_t end = b + 1 < starts.size() ? starts[b + 1] : numbers_.size();
    std::int64_t frames = 0;
    for (std::size_t i = starts[b]; i < end; ++i) frames += frames_of(i);
    batches_[b] = {static_cast<std::uint32_t>(starts[b]),
                   static_cast<std::uint32_t>(end - starts[b]),
                   static_cast<std::uint32_t>(
                       std::min<std::int64_t>(frames, std::numeric_limits<std::uint32_t>::max()))};
  }
}

/// Returns how many micro-batches keep the order by length, in which they were cut. The number does
/// not depend on how many a step takes, which may change within an epoch.
std::size_t Epoch::sorted_batches() const {
  if (key_.epoch != 0) return 0;
  if (data_.short_first < 0) return batches_.size();
  return std::min(static_cast<std::size_t>(data_.short_first), batches_.size());
}

/// Shuffles the micro-batches from `begin` on. A batch's place follows from a hash of its first
/// draw. Sorting by hashes needs no generator whose state would have to be the same on all ranks.
void Epoch::shuffle(std::size_t begin) {
  struct Place {
    std::uint64_t random, first;
    Batch batch;
  };
  std::vector<Place> places;
  const std::span<Batch> shuffled = std::span(batches_).subspan(begin);
  places.reserve(shuffled.size());
  for (const Batch& batch : shuffled) {
    const std::uint64_t first = draw_key(draws_.at(numbers_[batch.first]));
    places.push_back(
        {sample_hash(SampleKind::order, key_.seed, {static_cast<std::uint64_t>(key_.epoch), first}),
         first, batch});
  }
  std::ranges::sort(places, {}, [](const Place& at) { return std::pair(at.random, at.first); });
  std::ranges::transform(places, shuffled.begin(), &Place::batch);
}

MicroBatch Epoch::at(std::size_t batch) const {
  UtteranceShapes shapes(features_);
  MicroBatch result;
  result.utterances.reserve(batches_[batch].count);
  for (const std::uint32_t number :
       std::span(numbers_).subspan(batches_[batch].first, batches_[batch].count))
    result.utterances.push_back(shaped(shapes, number));
  return result;
}

BatchUtterance Epoch::drawn(std::uint64_t number) const {
  UtteranceShapes shapes(features_);
  return shaped(shapes, number);
}

std::vector<MicroBatch> training_batches(const Lengths& lengths, const configs::DataConfig& data,
                                         const configs::FeatureConfig& features,
                                         const EpochKey& key, const Mixture& mixture) {
  const Epoch epoch(lengths, data, features, key, mixture);
  std::vector<MicroBatch> batches;
  for (std::size_t b = 0; b < epoch.size(); ++b) batches.push_back(epoch.at(b));
  return batches;
}

}  // namespace penstock::runtime
