#include "runtime/data/extent.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace penstock::runtime {
namespace {

constexpr std::int64_t kMostSteps = 20'000;  // that are looked at; some seconds
constexpr std::int64_t kNear = 100;          // 1 / kNear below the bound is taken for the bound

std::vector<std::int64_t> frames_at(const StepSequenceOptions& options, double speed) {
  std::vector<std::int64_t> frames;
  for (const AudioLength& length : options.lengths)
    frames.push_back(shape_utterance(0, length, speed, options.features).frames);
  return frames;
}

void cover(WorkExtent& extent, const std::vector<MicroBatch>& batches) {
  extent.micro_batches = std::max(extent.micro_batches, static_cast<int>(batches.size()));
  for (const MicroBatch& batch : batches) extent.micro_batch.cover(batch);
}

}  // namespace

void MicroBatchExtent::cover(const MicroBatch& batch) {
  utterances = std::max(utterances, std::ssize(batch.utterances));
  frames = std::max(frames, batch.frames());
  for (const BatchUtterance& utterance : batch.utterances)
    longest = std::max(longest, utterance.frames);
}

WorkExtent extent_of(const std::vector<MicroBatch>& batches) {
  WorkExtent extent;
  cover(extent, batches);
  return extent;
}

WorkExtent greatest_extent(const StepSequenceOptions& options) {
  const MicroBatchBounds bounds = micro_batch_bounds(options.data, options.features);
  auto slowest = frames_at(options, std::ranges::min(options.data.speeds));
  auto fastest = frames_at(options, std::ranges::max(options.data.speeds));
  std::ranges::sort(slowest, std::greater{});
  std::ranges::sort(fastest);
  const auto most = bounds.utterances == 0 ? std::ssize(slowest)
                                           : std::min(bounds.utterances, std::ssize(slowest));

  WorkExtent extent{options.data.micro_batches, {}};
  MicroBatchExtent& batch = extent.micro_batch;
  batch.longest = slowest.front();
  batch.frames = std::min(
      bounds.frames, std::accumulate(slowest.begin(), slowest.begin() + most, std::int64_t{0}));
  for (std::int64_t frames = 0; batch.utterances < most; ++batch.utterances) {
    frames += fastest[static_cast<std::size_t>(batch.utterances)];
    if (frames > bounds.frames) break;
  }
  return extent;
}

WorkExtent extent_of(const StepSequence& sequence, std::int64_t steps) {
  const WorkExtent bound = greatest_extent(sequence.options());
  WorkExtent extent;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step == kMostSteps) return bound;
    cover(extent, sequence.at(step).micro_batches);
    const std::int64_t frames = bound.micro_batch.frames;
    if (extent.micro_batch.frames >= frames - frames / kNear) return bound;
  }
  return extent;
}

}  // namespace penstock::runtime
