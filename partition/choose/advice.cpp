#include "partition/choose/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/gib.h"
#include "base/quantities.h"

namespace penstock::partition {
namespace {

constexpr double kNoChange = 5e-3;  // of speed: predictions tell no less

constexpr int kQuickSlots = 16;  // on more, choices are not refined

/// For the same stages, replicas and schedule.
PlanningProblem narrowed(const PlanningProblem& problem, const PlanChoice& choice) {
  PlanningProblem again = problem;
  again.stages = choice.stages;
  again.replicas = choice.replicas;
  again.batches = {choice.batch};
  if (std::ranges::count(problem.schedules, choice.schedule) > 0)
    again.schedules = {choice.schedule};
  again.finds = again.finds_only = false;
  again.is_quick = choice.slots() > kQuickSlots;
  return again;
}

/// Audio seconds a second of the best choice; nothing: there is none.
std::optional<double> speed_of(const PlanningProblem& problem) try {
  return decide(problem).estimate.speed();
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

class Adviser {
 public:
  Adviser(const PlanningProblem& problem, const Decision& decision, const AdviceTime& time)
      : problem_(problem), decision_(decision), time_(time) {}

  std::vector<Advice> advise() {
    ask_links();
    ask_memory();
    ask_micro_batches();
    std::ranges::stable_sort(advice_, std::ranges::greater{}, &Advice::speed);
    return std::move(advice_);
  }

 private:
  bool has_time_to_plan() const {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    return passed.count() + time_.plan_took <= time_.seconds;
  }

  void add(std::string change, std::optional<double> speed) {
    if (speed) advice_.push_back({std::move(change), *speed});
  }

  void ask_links() {
    if (decision_.choice.slots() < 2) return;  // nothing crosses one
    PlanningProblem again = problem_;
    again.cluster = with_links_twice_as_fast(problem_.cluster);
    add("with links twice as fast",
        estimate_choice(again, decision_.workload, decision_.choice).speed());
  }

  void ask_memory() {
    const Alternative* lacking = fastest_lacking(decision_);
    if ((lacking == nullptr && !memory_shapes(decision_)) || !has_time_to_plan()) return;
    double least = 0;  // that a device of the choice may use
    for (const auto& stage : decision_.choice.devices)
      for (const int device : stage) {
        const double usable = problem_.cluster.usable(device);
        least = least > 0 ? std::min(least, usable) : usable;
      }
    const double wanted = lacking != nullptr ? lacking->lacks->bytes : least / 4;
    const double gib = std::ceil(10 * wanted / kGib) / 10;
    PlanningProblem again =
        narrowed(problem_, lacking != nullptr ? lacking->choice : decision_.choice);
    for (Device& device : again.cluster.devices)
      device.memory += gib * kGib / (1 - again.cluster.margin);
    const auto speed = speed_of(again);
    if (speed) add(fmt::format("with {:g} GiB more on every device", gib), speed);
  }

  void ask_micro_batches() {
    if (problem_.keeps_order || !has_time_to_plan()) return;
    PlanningProblem again = narrowed(problem_, decision_.choice);
    BatchChoice& batch = again.batches.front();
    batch.micro_batches *= 2;
    batch.order.clear();
    add(fmt::format("with {} micro-batches a step, which then has twice the audio",
                    batch.micro_batches),
        speed_of(again));
  }

  const PlanningProblem& problem_;
  const Decision& decision_;
  const AdviceTime time_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
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
  if (gain < kNoChange) return change + ": no faster.";
  return fmt::format("{}: {} s of audio a second, {:.3g} % more.", change,
                     number_text(advice.speed), 100 * gain);
}

}  // namespace penstock::partition
