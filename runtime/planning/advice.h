#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/planner/cluster/cluster.h"
#include "runtime/planning/cluster_plan.h"

namespace penstock::runtime {

/// The predicted speed if one thing is changed.
struct Advice {
  std::string change;  // "with links twice as fast"
  double speed = 0;    // seconds of audio trained per second
};

/// Plans a changed recipe on a changed cluster and returns the seconds of audio trained per second.
/// Returns nothing if no plan fits or the time runs out.
using PlanAgain =
    std::function<std::optional<double>(const configs::Config&, const partition::Cluster&)>;

/// Returns a PlanAgain that calls plan_for_cluster() with these constraints until their time is
/// over. It uses a copy of the time limit, so the limit of the original search is not marked as
/// reached.
[[nodiscard]] PlanAgain plan_again(const ClusterConstraints& constraints);

/// Limits the seconds that questions may take. A question is asked only if as much time is left as
/// the plan itself took. So the set of questions depends on the machine's speed, but the plans do
/// not.
struct AdviceTime {
  double seconds = 5, plan_took = 0;
};

/// A plan and its inputs.
struct PlannedFrom {
  const configs::Config& recipe;
  const partition::Cluster& cluster;
  const ClusterPlan& planned;
  bool free_batch = false;  // as in ClusterConstraints
};

/// Returns single changes, the most profitable first. Each speed is that of a plan made with this
/// change alone, so `penstock plan` with the change prints the same. With more memory or faster
/// links the present plan still holds, so the speed is at least the present one.
/// - More memory, if a candidate lacks some, or if memory shapes the plan. The first amount is the
///   least that a faster candidate lacks, or else a quarter of a device's memory. It is doubled up
///   to three times until the speed grows by partition::kClearlyFaster, and then bisected three
///   times. If no amount brings that growth, the change names all amounts that were tried. If the
///   recipe sets pipeline.memory_gib, that grows, up to the largest device's memory; else all
///   devices grow. The question is skipped if the recipe fixes recomputation or no device has a
///   limit.
/// - Twice the audio per step, unless the order of micro-batches is kept.
/// - Links twice as fast, with half the latency, if several devices are used.
/// A change is left out if nothing can be planned with it, or if there is no time for it.
[[nodiscard]] std::vector<Advice> advise(const PlannedFrom& from, const PlanAgain& plan,
                                         const AdviceTime& time = {});

/// Formats advice relative to a plan of this speed: "With links twice as fast: 2,310 s of audio a
/// second, 3.8 % more."
[[nodiscard]] std::string sentence_of(const Advice& advice, double speed);

}  // namespace penstock::runtime
