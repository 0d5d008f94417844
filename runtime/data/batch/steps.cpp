#include "runtime/data/batch/steps.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <iterator>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/rules.h"
#include "runtime/data/batch/epoch.h"
#include "runtime/data/batch/sample_hash.h"

// Steps are numbered over all epochs, and an epoch must be formed before it is known how many steps
// it has. `first_step` is a table of where epochs begin, extended as far as a question needs;
// know() lets it begin at a later epoch, so that a resumed run does not form all earlier ones.
//
// A step's micro-batches are consecutive ones of the epoch. Lanes are dealt them by decreasing
// length, each to the lane with the least work so far: Graham's rule of the longest processing time
// first (1969), in rounds, so that lanes have equally many. Ties go by a hash of seed, step and
// lane, not to the first lane, which would otherwise get the longest of each step.
//
// Epochs are futures. One that is asked for is formed by the caller; the next one is formed in a
// thread beforehand, once a run has passed the middle of its epoch. Results are the same either
// way.

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
  UtteranceShapes shapes(options.features);
  BatchUtterance longest;
  std::int64_t beyond = 0;
  options.lengths.for_each([&](std::uint64_t id, const AudioLength& length) {
    const BatchUtterance utterance = shapes(id, length, slowest);
    beyond += utterance.frames > bound;
    if (utterance.frames > longest.frames) longest = utterance;
  });
  if (beyond > 0)
    throw ConfigError(fmt::format(
        "data.micro_batch_seconds = {:f} is too short for {} at the slowest of data.speeds, and "
        "the longest takes {:f} s: raise it, or leave long utterances out by data.max_seconds",
        options.data.micro_batch_seconds, counted(beyond, "utterance"),
        static_cast<double>(longest.samples) / options.features.sample_rate));
}

/// Returns the indices of a step's micro-batches, the longest first.
std::vector<std::size_t> longest_first(const std::vector<MicroBatch>& batches) {
  std::vector<std::size_t> places(batches.size());
  std::iota(places.begin(), places.end(), 0);
  std::ranges::stable_sort(places, std::greater{},
                           [&](std::size_t i) { return batches[i].frames(); });
  return places;
}

/// Assigns a lane to each micro-batch of a step. In order of cost, each goes to the lane with the
/// fewest micro-batches, then the fewest frames, then the smallest hash.
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
    const auto min = std::min_element(dealt.begin(), dealt.end());
    min->turns += 1;
    min->frames += batches[i].frames();
    lane_of[i] = static_cast<int>(min - dealt.begin());
  }
  return lane_of;
}

/// Moves micro-batches and their lanes into the order of `order`, which ranks them by length. For
/// example, {2, 0, 1} takes the third longest first. An epoch's last step may have fewer
/// micro-batches, and the ranks that it lacks are left out.
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

/// Caches epochs that are formed or being formed. The one requested last is at the front.
class StepSequence::Epochs {
 public:
  using Formed = std::shared_ptr<const Epoch>;

  explicit Epochs(const StepSequenceOptions& options) : options_(options) {}

  Formed at(std::int64_t wanted) {
    bring_forward(wanted, std::launch::deferred);
    return kept_.front().second.get();
  }

  void take(std::int64_t epoch, std::string_view bytes) {
    std::promise<Formed> taken;
    taken.set_value(std::make_shared<const Epoch>(options_.lengths, options_.data,
                                                  options_.features, EpochKey{options_.seed, epoch},
                                                  options_.mixture, bytes));
    make_room();
    kept_.emplace_front(epoch, taken.get_future().share());
  }

  /// Forms an epoch in a thread of its own, and keeps the current one at the front.
  void prepare(std::int64_t wanted) {
    const auto asked = kept_.front().first;
    bring_forward(wanted, std::launch::async);
    bring_forward(asked, std::launch::deferred);
  }

  std::int64_t formed() const { return formed_; }

 private:
  static constexpr std::size_t kKept = 2;

  /// Drops the oldest epochs, so that one more fits.
  void make_room() {
    while (kept_.size() >= kKept) kept_.pop_back();
  }

  /// Moves an epoch to the front. If it is not cached, it is formed: at once in a thread of the
  /// loaders' priority (async), or when it is first needed (deferred).
  void bring_forward(std::int64_t wanted, std::launch how) {
    const auto found =
        std::ranges::find(kept_, wanted, [](const auto& kept) { return kept.first; });
    if (found != kept_.end()) {
      std::rotate(kept_.begin(), found, found + 1);
      return;
    }
    make_room();
    kept_.emplace_front(wanted, std::async(how, [this, wanted, how] {
                                  if (how == std::launch::async) (void)!nice(10);
                                  auto epoch = std::make_shared<const Epoch>(
                                      options_.lengths, options_.data, options_.features,
                                      EpochKey{options_.seed, wanted}, options_.mixture);
                                  ++formed_;
                                  return epoch;
                                }).share());
  }

  const StepSequenceOptions& options_;
  std::atomic<std::int64_t> formed_ = 0;
  /// Declared last, because its destructor joins threads.
  std::deque<std::pair<std::int64_t, std::shared_future<Formed>>> kept_;
};

struct StepSequence::State {
  explicit State(StepSequenceOptions of) : options(std::move(of)), epochs(options) {}

  const StepSequenceOptions options;
  std::mutex mutex;
  Epochs epochs;
  EpochStart told = options.start;          // set by know()
  std::int64_t known = 0;                   // epoch of the first element of first_step
  std::vector<std::int64_t> first_step{0};  // by epoch, up to the one after the known ones
  std::int64_t asked = 0;                   // step of the last call of at()

  std::int64_t steps_of(std::int64_t batches) const {
    return (batches + options.data.micro_batches - 1) / options.data.micro_batches;
  }

  /// Returns the first micro-batch of an epoch that is used.
  std::int64_t first_used(std::int64_t epoch) const {
    return epoch == options.start.epoch ? options.start.micro_batch : 0;
  }

  std::int64_t steps_in(std::int64_t epoch) {
    const std::int64_t left = std::ssize(*epochs.at(epoch)) - first_used(epoch);
    if (left <= 0)
      throw DataError(fmt::format(
          "the run is to go on after micro-batch {} of epoch {}, which has {}: the checkpoint is "
          "not of these data",
          first_used(epoch), epoch, left + first_used(epoch)));
    return steps_of(left);
  }

  /// Extends first_step until it covers `step`.
  void count_steps(std::int64_t step) {
    const EpochStart& from = step < told.step ? options.start : told;
    if (known != from.epoch || first_step.front() != from.step) {
      known = from.epoch;
      first_step = {from.step};
    }
    while (first_step.back() <= step)
      first_step.push_back(first_step.back() + steps_in(known + std::ssize(first_step) - 1));
  }

  /// Returns the epoch that holds a step.
  EpochStart epoch_of(std::int64_t step) {
    if (step < options.start.step) throw std::out_of_range("a step before the data's start");
    count_steps(step);
    const auto next = std::ranges::upper_bound(first_step, step);
    const std::int64_t epoch = known + (next - first_step.begin()) - 1;
    return {epoch, *std::prev(next), first_used(epoch)};
  }

  /// Returns a step's micro-batches in sampled order.
  StepBatches sampled(const EpochStart& of, std::int64_t step) {
    StepBatches result;
    result.epoch = of.epoch;
    result.step_in_epoch = step - of.step;
    const auto epoch = epochs.at(result.epoch);
    const std::int64_t size = options.data.micro_batches;
    const std::int64_t begin = of.micro_batch + result.step_in_epoch * size;
    const std::int64_t end = std::min(begin + size, std::ssize(*epoch));
    for (std::int64_t b = begin; b < end; ++b)
      result.micro_batches.push_back(epoch->at(static_cast<std::size_t>(b)));
    return result;
  }

  StepBatches batches_of(const EpochStart& epoch, std::int64_t step) {
    StepBatches result = sampled(epoch, step);
    const auto costliest = longest_first(result.micro_batches);
    result.lanes = deal(result.micro_batches, costliest, options.lanes, options.seed, step);
    if (!options.order.empty()) put_in_order(result, costliest, options.order);
    for (const MicroBatch& batch : result.micro_batches)
      result.utterances += std::ssize(batch.utterances);
    return result;
  }

  /// Prepares the next epoch if a run approaches it. A run asks for one step after another.
  void look_ahead(const StepBatches& given, std::int64_t step) {
    constexpr std::int64_t kNear = 8;
    const bool runs = std::abs(step - std::exchange(asked, step)) <= kNear;
    if (runs && 2 * given.step_in_epoch >= steps_in(given.epoch)) epochs.prepare(given.epoch + 1);
  }
};

StepSequence::StepSequence(StepSequenceOptions options) {
  check_keys(options);
  check_lengths(options);
  if (options.lengths.empty()) throw ConfigError("there are no utterances to train on");
  state_ = std::make_unique<State>(std::move(options));
}

StepSequence::~StepSequence() = default;
StepSequence::StepSequence(StepSequence&&) noexcept = default;
StepSequence& StepSequence::operator=(StepSequence&&) noexcept = default;

const StepSequenceOptions& StepSequence::options() const { return state_->options; }

StepBatches StepSequence::at(std::int64_t step) const {
  const std::lock_guard lock(state_->mutex);
  StepBatches given = state_->batches_of(state_->epoch_of(step), step);
  state_->look_ahead(given, step);
  return given;
}

std::int64_t StepSequence::steps_in_epoch(std::int64_t epoch) const {
  const std::lock_guard lock(state_->mutex);
  return state_->steps_in(epoch);
}

void StepSequence::know(std::int64_t epoch, std::int64_t first_step) {
  const std::lock_guard lock(state_->mutex);
  state_->told = {epoch, first_step};
}

std::string StepSequence::bytes_of(std::int64_t epoch) const {
  const std::lock_guard lock(state_->mutex);
  return state_->epochs.at(epoch)->bytes();
}

void StepSequence::take(std::int64_t epoch, std::string_view bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->epochs.take(epoch, bytes);
}

std::vector<MicroBatch> StepSequence::longest(std::size_t count) const {
  const std::lock_guard lock(state_->mutex);
  EpochStart start = state_->options.start;
  start.micro_batch = 0;  // the whole epoch, whose micro-batches are like later ones
  const auto epoch = state_->epochs.at(start.epoch);
  std::vector<std::size_t> places(epoch->size());
  std::iota(places.begin(), places.end(), 0);
  count = std::min(count, places.size());
  // Ties go to the micro-batch that is sampled first, which does not depend on options.order.
  std::ranges::partial_sort(places, places.begin() + static_cast<std::ptrdiff_t>(count), {},
                            [&](std::size_t b) { return std::pair(-epoch->frames(b), b); });
  places.resize(count);
  std::set<std::int64_t> steps;
  for (const std::size_t b : places)
    steps.insert(static_cast<std::int64_t>(b) / state_->options.data.micro_batches);
  std::vector<MicroBatch> longest;
  for (const std::int64_t step : steps)
    std::ranges::move(state_->batches_of(start, start.step + step).micro_batches,
                      std::back_inserter(longest));
  std::ranges::stable_sort(longest, std::greater{}, &MicroBatch::frames);
  longest.resize(count);
  return longest;
}

std::int64_t StepSequence::epochs_formed() const { return state_->epochs.formed(); }

}  // namespace penstock::runtime
