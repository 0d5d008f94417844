#include "runtime/data/batching.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "runtime/data/features.h"
#include "runtime/data/resample.h"
#include "runtime/data/sample_hash.h"

namespace penstock::runtime {
namespace {

/// Fewest consecutive groups within the bounds, by filling each as far as it goes.
std::vector<MicroBatch> fill(const std::vector<BatchUtterance>& utterances,
                             const MicroBatchBounds& bounds) {
  std::vector<MicroBatch> batches;
  std::int64_t frames = 0;
  for (const BatchUtterance& utterance : utterances) {
    const bool fits =
        !batches.empty() && frames + utterance.frames <= bounds.frames &&
        (bounds.utterances == 0 || std::ssize(batches.back().utterances) < bounds.utterances);
    if (!fits) {
      batches.emplace_back();
      frames = 0;
    }
    batches.back().utterances.push_back(utterance);
    frames += utterance.frames;
  }
  return batches;
}

/// The smallest value in [low, high] that `suffices`; `high` does, and all above one that does.
std::int64_t smallest(std::int64_t low, std::int64_t high,
                      const std::function<bool(std::int64_t)>& suffices) {
  while (low < high) {  // `high` suffices, nothing below `low` does
    const std::int64_t middle = std::midpoint(low, high);
    if (suffices(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

}  // namespace

std::int64_t MicroBatch::frames() const {
  std::int64_t sum = 0;
  for (const BatchUtterance& utterance : utterances) sum += utterance.frames;
  return sum;
}

BatchUtterance shape_utterance(std::uint64_t id, const AudioLength& length, double speed,
                               const configs::FeatureConfig& features) {
  const std::int64_t samples =
      resampled_samples(length.samples, resampling(length.rate, features.sample_rate, speed));
  return {id, speed, samples, feature_frames(samples, features)};
}

MicroBatchBounds micro_batch_bounds(const configs::DataConfig& data,
                                    const configs::FeatureConfig& features) {
  return {feature_frames(std::llround(data.micro_batch_seconds * features.sample_rate), features),
          data.micro_batch_utterances};
}

std::vector<MicroBatch> cut_evenly(const std::vector<BatchUtterance>& utterances,
                                   const MicroBatchBounds& bounds) {
  std::vector<MicroBatch> batches = fill(utterances, bounds);
  const std::size_t fewest = batches.size();
  MicroBatchBounds even = bounds;
  even.frames = smallest(1, bounds.frames, [&](std::int64_t frames) {
    return fill(utterances, {frames, bounds.utterances}).size() <= fewest;
  });
  even.utterances = smallest(1, bounds.utterances == 0 ? std::ssize(utterances) : bounds.utterances,
                             [&](std::int64_t count) {
                               return fill(utterances, {even.frames, count}).size() <= fewest;
                             });
  return fill(utterances, even);
}

std::vector<MicroBatch> training_batches(const std::vector<AudioLength>& lengths,
                                         const configs::DataConfig& data,
                                         const configs::FeatureConfig& features,
                                         const EpochKey& key) {
  constexpr std::uint64_t kUnits = 1024, kJitter = kUnits / 8;
  const auto epoch = static_cast<std::uint64_t>(key.epoch);
  struct Sortable {
    std::uint64_t length, tie;
    BatchUtterance utterance;
  };
  std::vector<Sortable> sorted;
  sorted.reserve(lengths.size());
  for (std::uint64_t id = 0; id < lengths.size(); ++id) {
    const double speed =
        data.speeds[sample_hash(SampleKind::speed, key.seed, {epoch, id}) % data.speeds.size()];
    const BatchUtterance utterance = shape_utterance(id, lengths[id], speed, features);
    const std::uint64_t bits = sample_hash(SampleKind::length_jitter, key.seed, {epoch, id});
    sorted.push_back({static_cast<std::uint64_t>(utterance.frames) * (kUnits + bits % kJitter),
                      bits, utterance});
  }
  std::ranges::sort(sorted, {}, [](const Sortable& item) {
    return std::tuple(item.length, item.tie, item.utterance.id);
  });
  std::vector<BatchUtterance> utterances;
  utterances.reserve(sorted.size());
  for (const Sortable& item : sorted) utterances.push_back(item.utterance);

  std::vector<MicroBatch> batches = cut_evenly(utterances, micro_batch_bounds(data, features));
  std::ranges::sort(batches, {}, [&](const MicroBatch& batch) {
    const std::uint64_t first = batch.utterances.front().id;
    return std::pair(sample_hash(SampleKind::order, key.seed, {epoch, first}), first);
  });
  return batches;
}

std::vector<MicroBatch> evaluation_batches(const std::vector<AudioLength>& lengths,
                                           const configs::DataConfig& data,
                                           const configs::FeatureConfig& features) {
  std::vector<BatchUtterance> utterances;
  for (std::uint64_t id = 0; id < lengths.size(); ++id)
    utterances.push_back(shape_utterance(id, lengths[id], 1, features));
  std::ranges::sort(utterances, {}, [](const BatchUtterance& utterance) {
    return std::pair(utterance.frames, utterance.id);
  });
  return cut_evenly(utterances, micro_batch_bounds(data, features));
}

}  // namespace penstock::runtime
