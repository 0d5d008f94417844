#include "runtime/data/batch/batching.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/data/audio/features.h"

namespace penstock::runtime {

std::int64_t MicroBatch::frames() const {
  std::int64_t sum = 0;
  for (const BatchUtterance& utterance : utterances) sum += utterance.frames;
  return sum;
}

BatchUtterance shape_utterance(std::uint64_t id, const AudioLength& length, double speed,
                               const configs::FeatureConfig& features) {
  return UtteranceShapes(features)(id, length, speed);
}

// A corpus has few pairs of rate and speed, so their ratios are kept in a list, which is faster
// than computing a greatest common divisor for each of millions of utterances.
BatchUtterance UtteranceShapes::operator()(std::uint64_t id, const AudioLength& length,
                                           double speed) {
  auto ratio = std::ranges::find_if(
      ratios_, [&](const Ratio& r) { return r.rate == length.rate && r.speed == speed; });
  if (ratio == ratios_.end())
    ratio = ratios_.insert(
        ratios_.end(), {length.rate, speed, resampling(length.rate, features_.sample_rate, speed)});
  const std::int64_t samples = resampled_samples(length.samples, ratio->resampling);
  if (!frames_) frames_.emplace(features_);
  return {id, speed, samples, (*frames_)(samples), 0};
}

MicroBatchBounds micro_batch_bounds(const configs::DataConfig& data,
                                    const configs::FeatureConfig& features) {
  return {feature_frames(std::llround(data.micro_batch_seconds * features.sample_rate), features),
          data.micro_batch_utterances};
}

std::vector<MicroBatch> cut_evenly(const std::vector<BatchUtterance>& utterances,
                                   const MicroBatchBounds& bounds) {
  const EvenCut cut(utterances.size(), [&](std::size_t i) { return utterances[i].frames; });
  const std::vector<std::size_t> starts = cut.starts(bounds);
  std::vector<MicroBatch> batches(starts.size());
  for (std::size_t b = 0; b < starts.size(); ++b) {
    const std::size_t end = b + 1 < starts.size() ? starts[b + 1] : utterances.size();
    batches[b].utterances.assign(utterances.begin() + static_cast<std::ptrdiff_t>(starts[b]),
                                 utterances.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return batches;
}

/// Sorting by length keeps utterances of similar length together. Ties are broken by id, so the
/// order is unique.
std::vector<MicroBatch> evaluation_batches(const Lengths& lengths, const configs::DataConfig& data,
                                           const configs::FeatureConfig& features) {
  UtteranceShapes shapes(features);
  std::vector<BatchUtterance> utterances;
  utterances.reserve(lengths.size());
  for (std::uint64_t id = 0; id < lengths.size(); ++id)
    utterances.push_back(shapes(id, lengths[id], 1));
  std::ranges::sort(utterances, {}, [](const BatchUtterance& utterance) {
    return std::pair(utterance.frames, utterance.id);
  });
  return cut_evenly(utterances, micro_batch_bounds(data, features));
}

}  // namespace penstock::runtime
