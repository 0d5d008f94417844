#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/cluster/cluster.h"
#include "runtime/planning/cluster_plan.h"

namespace penstock::runtime {

/// What a plan comes to where one thing is different.
struct Advice {
  std::string change;  // "with links twice as fast"
  double speed = 0;    // audio seconds trained in a second
};

/// Plans the recipe on the cluster as if they had been given in the first place: audio seconds
/// trained in a second. Nothing: no plan fits, or the time did not last.
using PlanAgain =
    std::function<std::optional<double>(const configs::Config&, const partition::Cluster&)>;

/// PlanAgain by plan_on_cluster() with these constraints, until their time is over. It is limited
/// by a copy of that time: what it ends is not the search for the plan.
[[nodiscard]] PlanAgain plan_again(const ClusterConstraints& constraints);

/// Seconds that questions may take. Each is begun only where as much is left as the plan itself
/// took, so which are asked depends on the machine's pace. Plans do not.
struct AdviceTime {
  double seconds = 5, plan_took = 0;
};

/// A plan, and what it was made of.
struct PlannedFrom {
  const configs::Config& recipe;
  const partition::Cluster& cluster;
  const ClusterPlan& planned;
  bool free_batch = false;  // as ClusterConstraints
};

/// Single changes, the one that brings most first. Each speed is that of a plan that was made with
/// the change and nothing else, so that `penstock plan` with it prints the same; with more memory
/// or faster links it is the plan's own where that is higher, as the plan still holds:
/// - more memory, where a plan that was considered lacks some, or memory shapes the plan. The first
///   amount is the least that a plan lacks which simulation finds faster, or else a quarter of what
///   a device has. It is doubled up to three times until the speed grows by
///   partition::kClearlyFaster, and halved three times towards the last amount that did not bring
///   this. Where none does, the change names all amounts that were tried. pipeline.memory_gib grows
///   where the recipe sets it, and ends at the largest device; else all devices do. It is not asked
///   where the recipe says what is recomputed, nor where no device has a limit;
/// - twice the audio a step, unless the order of micro-batches is kept;
/// - links twice as fast, with half the latency, where several devices are used.
/// A change with which nothing can be planned is left out, and so is one for which there is no
/// time.
[[nodiscard]] std::vector<Advice> advise(const PlannedFrom& from, const PlanAgain& plan,
                                         const AdviceTime& time = {});

/// "With links twice as fast: 2,310 s of audio a second, 3.8 % more." beside a plan of that speed.
[[nodiscard]] std::string sentence_of(const Advice& advice, double speed);

}  // namespace penstock::runtime
