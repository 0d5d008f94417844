#include "runtime/data/epoch.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include "runtime/data/sample_hash.h"

namespace penstock::runtime {
namespace {

constexpr std::uint64_t kUnits = 1024, kJitter = kUnits / 8;

/// What utterances are sorted by, before a random tie and their ids.
std::uint64_t jittered(std::int64_t frames, std::uint64_t bits) {
  return static_cast<std::uint64_t>(frames) * (kUnits + bits % kJitter);
}

constexpr int kIdBits = 32;  // of a number that has frames above it

std::uint64_t id_of(std::uint64_t frames_and_id) { return frames_and_id & 0xffffffff; }

}  // namespace

Epoch::Epoch(const Lengths& lengths, const configs::DataConfig& data,
             const configs::FeatureConfig& features, const EpochKey& key)
    : lengths_(lengths), data_(data), features_(features), key_(key) {
  cut(by_length());
  shuffle();
}

double Epoch::speed(std::uint64_t id) const {
  const auto epoch = static_cast<std::uint64_t>(key_.epoch);
  return data_.speeds[sample_hash(SampleKind::speed, key_.seed, {epoch, id}) % data_.speeds.size()];
}

std::uint64_t Epoch::jitter(std::uint64_t id) const {
  return sample_hash(SampleKind::length_jitter, key_.seed,
                     {static_cast<std::uint64_t>(key_.epoch), id});
}

/// Frames (in the upper half) and id of every utterance, sorted by jittered length, tie and id.
std::vector<std::uint64_t> Epoch::by_length() const {
  UtteranceShapes shapes(features_);
  const std::size_t count = lengths_.size();
  std::vector<std::uint64_t> sorted(count);
  std::uint64_t largest = 0;
  for (std::uint64_t id = 0; id < count; ++id) {
    sorted[id] = jittered(shapes(id, lengths_[id], speed(id)).frames, jitter(id));
    largest = std::max(largest, sorted[id]);
  }
  // Numbers of 64 bits are sorted: as much of the length as there is room for, above the id.
  const int id_bits = static_cast<int>(std::bit_width(count));
  const int shift = std::max(0, static_cast<int>(std::bit_width(largest)) + id_bits - 64);
  for (std::uint64_t id = 0; id < count; ++id) sorted[id] = sorted[id] >> shift << id_bits | id;
  std::ranges::sort(sorted);
  settle_ties(sorted, id_bits, shift);

  const std::uint64_t ids = (std::uint64_t{1} << id_bits) - 1;
  for (std::uint64_t& item : sorted) {
    const std::uint64_t id = item & ids;
    const auto frames = shift > 0
                            ? static_cast<std::uint64_t>(shapes(id, lengths_[id], speed(id)).frames)
                            : (item >> id_bits) / (kUnits + jitter(id) % kJitter);
    item = std::min(frames, std::uint64_t{0xffffffff}) << kIdBits | id;
  }
  return sorted;
}

/// Among utterances of one number above the id, the whole length, the tie and then the id decide.
void Epoch::settle_ties(std::span<std::uint64_t> sorted, int id_bits, int shift) const {
  UtteranceShapes shapes(features_);
  const std::uint64_t ids = (std::uint64_t{1} << id_bits) - 1;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> tied;
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && sorted[end] >> id_bits == sorted[begin] >> id_bits) ++end;
    if (end - begin == 1) continue;
    tied.clear();
    for (const std::uint64_t item : sorted.subspan(begin, end - begin)) {
      const std::uint64_t id = item & ids, bits = jitter(id);
      const std::uint64_t length =
          shift > 0 ? jittered(shapes(id, lengths_[id], speed(id)).frames, bits) : 0;
      tied.emplace_back(length, bits, item);
    }
    std::ranges::sort(tied);
    for (std::size_t i = 0; i < tied.size(); ++i) sorted[begin + i] = std::get<2>(tied[i]);
  }
}

void Epoch::cut(const std::vector<std::uint64_t>& frames_and_ids) {
  const auto frames_of = [&](std::size_t i) {
    return static_cast<std::int64_t>(frames_and_ids[i] >> kIdBits);
  };
  const std::vector<std::size_t> starts =
      EvenCut(frames_and_ids.size(), frames_of).starts(micro_batch_bounds(data_, features_));
  ids_.reserve(frames_and_ids.size());
  for (const std::uint64_t item : frames_and_ids)
    ids_.push_back(static_cast<std::uint32_t>(id_of(item)));
  batches_.resize(starts.size());
  for (std::size_t b = 0; b < starts.size(); ++b) {
    const std::size_t end = b + 1 < starts.size() ? starts[b + 1] : ids_.size();
    std::int64_t frames = 0;
    for (std::size_t i = starts[b]; i < end; ++i) frames += frames_of(i);
    batches_[b] = {static_cast<std::uint32_t>(starts[b]),
                   static_cast<std::uint32_t>(end - starts[b]),
                   static_cast<std::uint32_t>(
                       std::min<std::int64_t>(frames, std::numeric_limits<std::uint32_t>::max()))};
  }
}

void Epoch::shuffle() {
  std::ranges::sort(batches_, {}, [&](const Batch& batch) {
    const std::uint64_t first = ids_[batch.first];
    return std::pair(
        sample_hash(SampleKind::order, key_.seed, {static_cast<std::uint64_t>(key_.epoch), first}),
        first);
  });
}

MicroBatch Epoch::at(std::size_t batch) const {
  UtteranceShapes shapes(features_);
  MicroBatch result;
  result.utterances.reserve(batches_[batch].count);
  for (const std::uint32_t id :
       std::span(ids_).subspan(batches_[batch].first, batches_[batch].count))
    result.utterances.push_back(shapes(id, lengths_[id], speed(id)));
  return result;
}

std::vector<MicroBatch> training_batches(const Lengths& lengths, const configs::DataConfig& data,
                                         const configs::FeatureConfig& features,
                                         const EpochKey& key) {
  const Epoch epoch(lengths, data, features, key);
  std::vector<MicroBatch> batches;
  for (std::size_t b = 0; b < epoch.size(); ++b) batches.push_back(epoch.at(b));
  return batches;
}

}  // namespace penstock::runtime
