#include "runtime/data/batch/extent.h"

#include <algorithm>
#include <map>

// Memory is allocated before the first step, for the largest micro-batch that may come. There are
// two ways to bound it. greatest_extent() needs only how many utterances have which length. It may
// exceed any micro-batch that occurs, since its maxima come from different utterances. extent_of()
// examines the steps of a run, for which it forms each epoch. It returns the bound instead once a
// step comes near it, since more steps could save little, and after kMaxSteps.

namespace penstock::runtime {
namespace {

constexpr std::int64_t kMaxSteps = 20'000;  // steps that are examined; takes some seconds
constexpr std::int64_t kNear = 100;  // an extent within 1 / kNear of the bound counts as the bound

/// Returns, for each number of frames, how many draws of an epoch may have it at this speed. An
/// array counts the short ones, which is faster than a map for millions of utterances.
std::map<std::int64_t, std::int64_t> frames_at(const StepSequenceOptions& options, double speed) {
  constexpr std::int64_t kShort = 1 << 16;  // frames: nearly all utterances have fewer
  UtteranceShapes shapes(options.features);
  std::vector<std::int64_t> shorter(kShort);
  std::map<std::int64_t, std::int64_t> counts;
  options.lengths.for_each([&](std::uint64_t id, const AudioLength& length) {
    const std::int64_t frames = shapes(id, length, speed).frames;
    const auto repeats = static_cast<std::int64_t>(options.mixture.max_repeats(id));
    if (frames < kShort)
      shorter[static_cast<std::size_t>(frames)] += repeats;
    else
      counts[frames] += repeats;
  });
  for (std::int64_t frames = 0; frames < kShort; ++frames)
    if (const std::int64_t count = shorter[static_cast<std::size_t>(frames)]; count > 0)
      counts.emplace(frames, count);
  return counts;
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

WorkExtent extent_of(const std::vector<MicroBatch>& batches, std::int64_t labels) {
  WorkExtent extent;
  extent.micro_batch.labels = labels;
  cover(extent, batches);
  return extent;
}

// The most frames come from the longest utterances at the slowest speed. The most utterances come
// from the shortest at the fastest speed, filled greedily up to the bound of frames.
WorkExtent greatest_extent(const StepSequenceOptions& options) {
  const MicroBatchBounds bounds = micro_batch_bounds(options.data, options.features);
  const auto slowest = frames_at(options, std::ranges::min(options.data.speeds));
  const auto fastest = frames_at(options, std::ranges::max(options.data.speeds));
  std::int64_t count = 0;
  for (const auto& [frames, utterances] : fastest) count += utterances;
  const auto max = bounds.utterances == 0 ? count : std::min(bounds.utterances, count);

  WorkExtent extent{options.data.micro_batches, {}};
  MicroBatchExtent& batch = extent.micro_batch;
  batch.longest = slowest.rbegin()->first;
  batch.labels = options.most_labels;
  std::int64_t left = max;
  for (auto at = slowest.rbegin(); at != slowest.rend() && left > 0; ++at) {
    const std::int64_t taken = std::min(left, at->second);
    batch.frames += taken * at->first;
    left -= taken;
  }
  batch.frames = std::min(bounds.frames, batch.frames);
  std::int64_t room = bounds.frames;
  for (const auto& [frames, utterances] : fastest) {
    const std::int64_t taken =
        std::min({utterances, max - batch.utterances, room / std::max<std::int64_t>(frames, 1)});
    batch.utterances += taken;
    room -= taken * frames;
    if (taken < utterances) break;
  }
  return extent;
}

WorkExtent extent_of(const StepSequence& sequence, std::int64_t steps) {
  const WorkExtent bound = greatest_extent(sequence.options());
  WorkExtent extent;
  extent.micro_batch.labels = bound.micro_batch.labels;
  const std::int64_t first = sequence.options().start.step;
  for (std::int64_t step = first; step < steps; ++step) {
    if (step - first == kMaxSteps) return bound;
    cover(extent, sequence.at(step).micro_batches);
    const std::int64_t frames = bound.micro_batch.frames;
    if (extent.micro_batch.frames >= frames - frames / kNear) return bound;
  }
  return extent;
}

}  // namespace penstock::runtime
