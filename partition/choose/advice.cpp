#include "partition/choose/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/gib.h"
#include "base/quantities.h"
#include "partition/cluster/cluster_file.h"

namespace penstock::partition {
namespace {

constexpr double kNoChange = 5e-3;  // of speed: predictions tell no less

constexpr int kQuickSlots = 16;  // on more, choices are not refined

/// Audio seconds a second of the best choice; nothing: there is none, or time may have ended the
/// search for it.
std::optional<double> speed_of(const PlanningProblem& problem) try {
  const double speed = decide(problem).estimate.speed();
  return is_over(problem.time) ? std::nullopt : std::optional(speed);
} catch (const ConfigError&) {
  return std::nullopt;
}

Cluster with_links_twice_as_fast(Cluster cluster) {
  for (auto* links : {&cluster.node_links, &cluster.exact_links})
    for (LinkRates& link : *links) {
      link.latency /= 2;
      link.bandwidth *= 2;
    }
  return cluster;
}

/// The choice that lacks memory and would be fastest, or nothing.
const Alternative* fastest_lacking(const Decision& decision) {
  const double audio = decision.estimate.audio_seconds;
  const Alternative* fastest = nullptr;
  for (const Alternative& other : decision.alternatives) {
    if (!other.lacks || other.step_seconds(audio) >= decision.estimate.step_seconds) continue;
    if (fastest == nullptr || other.step_seconds(audio) < fastest->step_seconds(audio))
      fastest = &other;
  }
  return fastest;
}

bool memory_shapes(const Decision& decision) {
  return decision.choice.selective || std::ranges::count(decision.choice.recomputed, true) > 0 ||
         (!decision.alternatives.empty() && decision.alternatives.front().memory_bound);
}

bool has_limits(const Cluster& cluster) {
  return std::ranges::any_of(
      cluster.devices, [](const Device& device) { return device.memory < kUnlimitedGib * kGib; });
}

class Adviser {
 public:
  Adviser(const PlanningProblem& problem, const Decision& decision, const AdviceTime& time)
      : problem_(problem),
        decision_(decision),
        time_(time),
        lacking_(fastest_lacking(decision)),
        is_quick_(decision.choice.slots() > kQuickSlots ||
                  (lacking_ != nullptr && lacking_->choice.slots() > kQuickSlots)) {
    if (problem.time != nullptr) limit_.emplace(*problem.time);
  }

  std::vector<Advice> advise() {
    ask_links();
    ask_memory();
    ask_micro_batches();
    std::ranges::stable_sort(advice_, std::ranges::greater{}, &Advice::speed);
    return std::move(advice_);
  }

 private:
  const TimeLimit* limit() const { return limit_ ? &*limit_ : nullptr; }

  bool has_time_to_plan() const {
    if (is_over(limit())) return false;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    return passed.count() + time_.plan_took <= time_.seconds;
  }

  /// For the same stages, replicas and batch, and the same schedule if it is a named one.
  PlanningProblem narrowed(const PlanChoice& choice) const {
    PlanningProblem again = problem_;
    again.stages = choice.stages;
    again.replicas = choice.replicas;
    again.batches = {choice.batch};
    if (!problem_.keeps_order) again.batches.front().order.clear();  // found with lists
    if (std::ranges::count(problem_.schedules, choice.schedule) > 0)
      again.schedules = {choice.schedule};
    again.finds = again.finds_only = false;
    again.is_quick = is_quick_;
    again.time = limit();
    return again;
  }

  /// The plan's, times what `changed` gains over the same planning without a change.
  std::optional<double> speed_with(const PlanningProblem& changed) {
    if (!has_time_to_plan()) return std::nullopt;
    if (!unchanged_) unchanged_ = speed_of(narrowed(decision_.choice)).value_or(0);
    if (*unchanged_ <= 0 || !has_time_to_plan()) return std::nullopt;
    const auto speed = speed_of(changed);
    if (!speed) return std::nullopt;
    return decision_.estimate.speed() * *speed / *unchanged_;
  }

  void ask_links() {
    if (decision_.choice.slots() < 2) return;  // nothing crosses one
    PlanningProblem again = problem_;
    again.cluster = with_links_twice_as_fast(problem_.cluster);
    advice_.push_back({"with links twice as fast",
                       estimate_choice(again, decision_.workload, decision_.choice).speed()});
  }

  void ask_memory() {
    if (problem_.recomputed || !has_limits(problem_.cluster)) return;
    if (lacking_ == nullptr && !memory_shapes(decision_)) return;
    double least = 0;  // that a device of the choice has
    for (const auto& stage : decision_.choice.devices)
      for (const int device : stage) {
        const double memory = problem_.cluster.devices[device].memory;
        least = least > 0 ? std::min(least, memory) : memory;
      }
    const double margin = problem_.cluster.margin;  // of what is added, too
    const double wanted = lacking_ != nullptr ? lacking_->lacks->bytes / (1 - margin) : least / 4;
    const double gib = std::ceil(10 * wanted / kGib) / 10;
    PlanningProblem again = narrowed(lacking_ != nullptr ? lacking_->choice : decision_.choice);
    for (Device& device : again.cluster.devices) device.memory += gib * kGib;
    if (const auto speed = speed_with(again))
      advice_.push_back({fmt::format("with {:g} GiB more on every device", gib),
                         std::max(*speed, decision_.estimate.speed())});  // the plan still fits
  }

  void ask_micro_batches() {
    if (problem_.keeps_order) return;
    PlanningProblem again = narrowed(decision_.choice);
    BatchChoice& batch = again.batches.front();
    batch.micro_batches *= 2;
    if (const auto speed = speed_with(again))
      advice_.push_back({fmt::format("with {} micro-batches a step, which then has twice the audio",
                                     batch.micro_batches),
                         *speed});
  }

  const PlanningProblem& problem_;
  const Decision& decision_;
  const AdviceTime time_;
  const Alternative* lacking_;
  const bool is_quick_;  // all that is planned again: else speeds do not compare
  /// A copy: what it ends is not the plan's search.
  std::optional<TimeLimit> limit_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<double> unchanged_;  // 0: nothing to compare with
  std::vector<Advice> advice_;
};

}  // namespace

std::vector<Advice> advise(const PlanningProblem& problem, const Decision& decision,
                           const AdviceTime& time) {
  return Adviser(problem, decision, time).advise();
}

std::string sentence_of(const Advice& advice, double speed) {
  const double gain = speed > 0 ? advice.speed / speed - 1 : 0;
  std::string change = advice.change;
  change.front() = 'W';
  if (std::abs(gain) < kNoChange) return change + ": no faster.";
  return fmt::format("{}: {} s of audio a second, {:.3g} % {}.", change, number_text(advice.speed),
                     100 * std::abs(gain), gain > 0 ? "more" : "less");
}

}  // namespace penstock::partition
