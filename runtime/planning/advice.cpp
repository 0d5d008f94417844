#include "runtime/planning/advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "partition/planner/choose/explain.h"
#include "partition/planner/cluster/cluster_file.h"
#include "runtime/planning/plan.h"

namespace penstock::runtime {
namespace {

constexpr int kDoublings = 3, kHalvings = 3;  // steps of the search for an amount of memory
constexpr double kMinGib = 0.1;               // amounts are multiples of this

partition::Cluster with_links_twice_as_fast(partition::Cluster cluster) {
  for (auto* links : {&cluster.node_links, &cluster.exact_links})
    for (partition::LinkRates& link : *links) {
      link.latency /= 2;
      link.bandwidth *= 2;
    }
  return cluster;
}

double in_tenths(double gib) { return std::ceil(gib / kMinGib - 1e-6) * kMinGib; }

/// Returns the least memory, in bytes, that a faster candidate lacks; nothing if there is none.
std::optional<double> min_lacking(const partition::BestPlan& best_plan) {
  std::optional<double> min;
  for (const partition::CandidateResult& other : best_plan.results)
    if (partition::would_be_faster(other, best_plan.results.front()))
      min = std::min(min.value_or(other.lacks->bytes), other.lacks->bytes);
  return min;
}

/// Returns true if memory shapes the plan or rules out a candidate.
bool memory_shapes(const partition::BestPlan& best_plan) {
  const auto lacks = [](const partition::CandidateResult& any) { return any.lacks.has_value(); };
  return std::ranges::any_of(best_plan.results, lacks) || best_plan.candidate().selective ||
         best_plan.candidate().resident > 0 ||
         std::ranges::count(best_plan.candidate().recomputed, true) > 0 ||
         best_plan.results.front().memory_bound;
}

bool is_limited(const partition::Device& device) {
  return device.memory < partition::kUnlimitedGib * kGib;
}

// Answers each question by planning again with one thing changed. The search for memory doubles the
// first amount until the speed grows clearly, then bisects between the last two amounts. So it
// takes at most 1 + kDoublings + kHalvings plans.
class Adviser {
 public:
  Adviser(const PlannedFrom& from, const PlanAgain& plan, const AdviceTime& time)
      : recipe_(from.recipe),
        cluster_(from.cluster),
        planned_(from.planned),
        free_batch_(from.free_batch),
        plan_(plan),
        time_(time),
        speed_(from.planned.best_plan.estimate().speed()) {}

  std::vector<Advice> advise() {
    ask_memory();
    ask_audio();
    ask_links();
    std::ranges::stable_sort(advice_, std::ranges::greater{}, &Advice::speed);
    return std::move(advice_);
  }

 private:
  /// Plans again and returns the speed. Returns nothing if no plan fits or the time is over.
  std::optional<double> speed_with(const configs::Config& recipe,
                                   const partition::Cluster& cluster) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    if (passed.count() + time_.plan_took > time_.seconds) return std::nullopt;
    return plan_(recipe, cluster);
  }

  void ask_links() {
    if (planned_.best_plan.candidate().slots() < 2) return;  // nothing crosses a link
    if (const auto speed = speed_with(recipe_, with_links_twice_as_fast(cluster_)))
      advice_.push_back(
          {"with links twice as fast", std::max(*speed, speed_)});  // the old plan still holds
  }

  void ask_audio() {
    if (planned_.problem.constraints.keeps_order) return;
    configs::Config twice = recipe_;
    configs::DataConfig& data = twice.data;
    data.micro_batches *= 2;
    data.batch_seconds *= 2;
    std::string keys = fmt::format("data.micro_batches={}", data.micro_batches);
    const double step = data.micro_batch_seconds * data.micro_batches;
    if (free_batch_)
      keys = fmt::format("data.batch_seconds={:.9g}", step);
    else if (data.batch_seconds > 0)
      keys += fmt::format(" data.batch_seconds={:.9g}", data.batch_seconds);
    if (const auto speed = speed_with(twice, cluster_))
      advice_.push_back({fmt::format("with {}, twice the audio a step", keys), *speed});
  }

  void ask_memory() {
    const partition::BestPlan& best_plan = planned_.best_plan;
    if (planned_.problem.constraints.recomputed || best_plan.results.empty()) return;
    const auto& devices = planned_.problem.cluster.devices;
    if (std::ranges::none_of(devices, is_limited)) return;
    const auto lacking = min_lacking(best_plan);
    if (!lacking && !memory_shapes(best_plan)) return;
    double gib = min_device_memory() / 4 / kGib;
    if (lacking) gib = *lacking / (limits_by_key() ? 1 : 1 - cluster_.margin) / kGib;
    search_memory(in_tenths(gib));
  }

  /// Returns the least memory of a device of the candidate, in bytes.
  double min_device_memory() const {
    double min = std::numeric_limits<double>::infinity();
    for (const auto& stage : planned_.best_plan.candidate().devices)
      for (const int device : stage)
        min = std::min(min, planned_.problem.cluster.devices[device].memory);
    return min;
  }

  /// True if pipeline.memory_gib, not the devices, limits the memory.
  bool limits_by_key() const { return recipe_.pipeline.memory_gib > 0 && max_gib() > 0; }

  /// Returns by how much pipeline.memory_gib may grow until the largest device's memory is in use.
  double max_gib() const {
    double usable = 0;
    for (const partition::Device& device : cluster_.devices)
      usable = std::max(usable, device.memory * (1 - cluster_.margin) / kGib);
    return usable - recipe_.pipeline.memory_gib;
  }

  std::optional<double> speed_with_memory(double gib) {
    configs::Config recipe = recipe_;
    partition::Cluster cluster = cluster_;
    if (limits_by_key())
      recipe.pipeline.memory_gib += gib;
    else
      for (partition::Device& device : cluster.devices) device.memory += gib * kGib;
    return speed_with(recipe, cluster);
  }

  /// Tries amounts of memory and adds advice: the least amount that is worth it, or else the best.
  void search_memory(double gib) {
    double below = 0;
    const double max = limits_by_key() ? max_gib() : std::numeric_limits<double>::infinity();
    for (int i = 0; i <= kDoublings && !is_worth_it(); ++i, gib *= 2) {
      const double amount = std::min(gib, max);
      const auto speed = speed_with_memory(amount);
      if (!speed) break;
      tried_.push_back({amount, *speed});
      if (is_worth_it() || amount >= max) break;
      below = amount;
    }
    if (tried_.empty()) return;
    if (!is_worth_it()) {
      add_memory(*std::ranges::max_element(tried_, {}, &Amount::speed));
      return;
    }
    Amount min = tried_.back();
    for (int i = 0; i < kHalvings; ++i) {
      const double between = in_tenths((below + min.gib) / 2);
      if (between >= min.gib - kMinGib / 2 || between <= below) break;
      const auto speed = speed_with_memory(between);
      if (!speed) break;
      if (is_worth_it({between, *speed}))
        min = {between, *speed};
      else
        below = between;
    }
    add_memory(min);
  }

  struct Amount {
    double gib = 0, speed = 0;
  };

  bool is_worth_it(const Amount& amount) const {
    return amount.speed > (1 + partition::kClearlyFaster) * speed_;
  }
  bool is_worth_it() const { return !tried_.empty() && is_worth_it(tried_.back()); }

  void add_memory(const Amount& best) {
    const bool gains = best.speed > (1 + partition::kSameStep) * speed_;
    std::vector<std::string> amounts;
    for (const Amount& amount : tried_)
      if (!gains) amounts.push_back(fmt::format("{:.4g}", amount.gib));
    if (gains) amounts = {fmt::format("{:.4g}", best.gib)};
    std::string change = "with " + amounts.back();
    if (amounts.size() > 1) {
      const std::string last = amounts.back();
      amounts.pop_back();
      change = fmt::format("with {} or {}", fmt::join(amounts, ", "), last);
    }
    change += " GiB more on every device";
    if (gains && limits_by_key())
      change +=
          fmt::format(" (pipeline.memory_gib={:.6g})", recipe_.pipeline.memory_gib + best.gib);
    // With more memory, the old plan still fits.
    advice_.push_back({change, std::max(best.speed, speed_)});
  }

  const configs::Config& recipe_;
  const partition::Cluster& cluster_;
  const ClusterPlan& planned_;
  const bool free_batch_;
  const PlanAgain& plan_;
  const AdviceTime time_;
  const double speed_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<Amount> tried_;
  std::vector<Advice> advice_;
};

}  // namespace

PlanAgain plan_again(const ClusterConstraints& constraints) {
  std::optional<TimeLimit> limit;
  if (constraints.time != nullptr) limit.emplace(*constraints.time);
  return [constraints, limit](const configs::Config& recipe,
                              const partition::Cluster& cluster) -> std::optional<double> {
    ClusterConstraints again = constraints;
    again.believes = false;
    again.placements = 0;
    again.time = limit ? &*limit : nullptr;
    if (is_over(again.time)) return std::nullopt;
    try {
      const double speed = plan_for_cluster(recipe, cluster, again).best_plan.estimate().speed();
      return is_over(again.time) ? std::nullopt : std::optional(speed);
    } catch (const ConfigError&) {
      return std::nullopt;
    }
  };
}

std::vector<Advice> advise(const PlannedFrom& from, const PlanAgain& plan, const AdviceTime& time) {
  return Adviser(from, plan, time).advise();
}

std::string sentence_of(const Advice& advice, double speed) {
  const double gain = speed > 0 ? advice.speed / speed - 1 : 0;
  std::string change = advice.change;
  change.front() = 'W';
  if (std::abs(gain) < partition::kSameStep) return change + ": no faster.";
  return fmt::format("{}: {} s of audio a second, {:.3g} % {}.", change, number_text(advice.speed),
                     100 * std::abs(gain), gain > 0 ? "more" : "less");
}

}  // namespace penstock::runtime
