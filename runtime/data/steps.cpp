#include "runtime/data/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "base/counted.h"
#include "base/error.h"
#include "configs/rules.h"
#include "runtime/data/sample_hash.h"

namespace penstock::runtime {
namespace {

void check_keys(const StepSequenceOptions& options) {
  const configs::DataConfig& data = options.data;
  std::string faults;
  for (const Contradiction& found : configs::contradictions({data.micro_batches, options.lanes, 1}))
    faults += fmt::format("\n  {}", found.what);
  if (const std::string wrong = configs::fault_of_order(options.order, data.micro_batches);
      !wrong.empty())
    faults += fmt::format("\n  trainer.order {}", wrong);
  if (data.micro_batches < 1) faults += "\n  data.micro_batches must be positive";
  if (!(data.micro_batch_seconds > 0)) faults += "\n  data.micro_batch_seconds must be positive";
  if (data.micro_batch_utterances < 0)
    faults += "\n  data.micro_batch_utterances must not be negative";
  if (data.speeds.empty()) faults += "\n  data.speeds must name a speed; [1] leaves audio as it is";
  for (const double speed : data.speeds)
    if (!(speed >= configs::kSlowestSpeed && speed <= configs::kFastestSpeed))
      faults += fmt::format("\n  data.speeds holds {:f}, not within 0.5 to 2", speed);
  if (!faults.empty()) throw ConfigError("[data] cannot be used:" + faults);
}

void check_lengths(const StepSequenceOptions& options) {
  const double slowest = std::ranges::min(options.data.speeds);
  const std::int64_t bound = micro_batch_bounds(options.data, options.features).frames;
  BatchUtterance longest;
  std::int64_t beyond = 0;
  for (std::uint64_t id = 0; id < options.lengths.size(); ++id) {
    const BatchUtterance utterance =
        shape_utterance(id, options.lengths[id], slowest, options.features);
    beyond += utterance.frames > bound;
    if (utterance.frames > longest.frames) longest = utterance;
  }
  if (beyond > 0)
    throw ConfigError(fmt::format(
        "data.micro_batch_seconds = {:f} is too short for {} at the slowest of data.speeds, and "
        "the longest takes {:f} s: raise it, or leave long utterances out by data.max_seconds",
        options.data.micro_batch_seconds, counted(beyond, "utterance"),
        static_cast<double>(longest.samples) / options.features.sample_rate));
}

/// Places of a step's micro-batches as sampled, the longest first.
std::vector<std::size_t> longest_first(const std::vector<MicroBatch>& batches) {
  std::vector<std::size_t> places(batches.size());
  std::iota(places.begin(), places.end(), 0);
  std::ranges::stable_sort(places, std::greater{},
                           [&](std::size_t i) { return batches[i].frames(); });
  return places;
}

/// The lane of each micro-batch of a step.
std::vector<int> deal(const std::vector<MicroBatch>& batches,
                      const std::vector<std::size_t>& costliest, int lanes, std::uint64_t seed,
                      std::int64_t step) {
  struct Lane {
    std::int64_t turns = 0, frames = 0;
    std::uint64_t tie = 0;
    bool operator<(const Lane& other) const {
      return std::tie(turns, frames, tie) < std::tie(other.turns, other.frames, other.tie);
    }
  };
  std::vector<Lane> dealt(static_cast<std::size_t>(lanes));
  for (std::size_t lane = 0; lane < dealt.size(); ++lane)
    dealt[lane].tie = sample_hash(SampleKind::lane, seed, {static_cast<std::uint64_t>(step), lane});
  std::vector<int> lane_of(batches.size());
  for (const std::size_t i : costliest) {
    const auto least = std::min_element(dealt.begin(), dealt.end());
    least->turns += 1;
    least->frames += batches[i].frames();
    lane_of[i] = static_cast<int>(least - dealt.begin());
  }
  return lane_of;
}

/// Moves micro-batches and their lanes to the places that `order` gives them.
void put_in_order(StepBatches& step, const std::vector<std::size_t>& longest_first,
                  const std::vector<int>& order) {
  const StepBatches sampled = step;
  std::size_t next = 0;
  for (const int wanted : order) {
    const auto rank = static_cast<std::size_t>(wanted);
    if (rank >= longest_first.size()) continue;
    step.micro_batches[next] = sampled.micro_batches[longest_first[rank]];
    step.lanes[next++] = sampled.lanes[longest_first[rank]];
  }
}

}  // namespace

struct StepSequence::State {
  StepSequenceOptions options;
  std::mutex mutex;
  std::vector<std::int64_t> first_step{0};  // of the epochs known so far, and of the one behind
  std::int64_t epoch = -1;                  // whose micro-batches are kept
  std::vector<MicroBatch> batches;

  const std::vector<MicroBatch>& epoch_batches(std::int64_t wanted) {
    if (wanted != epoch) {
      batches =
          training_batches(options.lengths, options.data, options.features, {options.seed, wanted});
      epoch = wanted;
    }
    return batches;
  }

  /// Makes first_step reach beyond `step` or beyond `wanted`.
  void count_steps(std::int64_t step, std::int64_t wanted) {
    while (first_step.back() <= step || std::ssize(first_step) <= wanted + 1) {
      const std::int64_t count = std::ssize(epoch_batches(std::ssize(first_step) - 1));
      first_step.push_back(first_step.back() +
                           (count + options.data.micro_batches - 1) / options.data.micro_batches);
    }
  }
};

StepSequence::StepSequence(StepSequenceOptions options) : state_(std::make_unique<State>()) {
  check_keys(options);
  check_lengths(options);
  if (options.lengths.empty()) throw ConfigError("there are no utterances to train on");
  state_->options = std::move(options);
}

StepSequence::~StepSequence() = default;
StepSequence::StepSequence(StepSequence&&) noexcept = default;
StepSequence& StepSequence::operator=(StepSequence&&) noexcept = default;

const StepSequenceOptions& StepSequence::options() const { return state_->options; }

StepBatches StepSequence::at(std::int64_t step) const {
  const std::lock_guard lock(state_->mutex);
  state_->count_steps(step, 0);
  const auto& first = state_->first_step;
  StepBatches result;
  result.epoch = std::ranges::upper_bound(first, step) - first.begin() - 1;
  result.step_in_epoch = step - first[static_cast<std::size_t>(result.epoch)];

  const std::vector<MicroBatch>& batches = state_->epoch_batches(result.epoch);
  const std::int64_t size = state_->options.data.micro_batches;
  const std::int64_t begin = result.step_in_epoch * size;
  const std::int64_t end = std::min(begin + size, std::ssize(batches));
  result.micro_batches.assign(batches.begin() + begin, batches.begin() + end);
  const StepSequenceOptions& options = state_->options;
  const auto costliest = longest_first(result.micro_batches);
  result.lanes = deal(result.micro_batches, costliest, options.lanes, options.seed, step);
  if (!options.order.empty()) put_in_order(result, costliest, options.order);
  for (const MicroBatch& batch : result.micro_batches)
    result.utterances += std::ssize(batch.utterances);
  return result;
}

std::int64_t StepSequence::steps_in_epoch(std::int64_t epoch) const {
  const std::lock_guard lock(state_->mutex);
  state_->count_steps(-1, epoch);
  const auto at = static_cast<std::size_t>(epoch);
  return state_->first_step[at + 1] - state_->first_step[at];
}

}  // namespace penstock::runtime
