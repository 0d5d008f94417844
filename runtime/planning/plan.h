#pragma once

#include <string>

#include "configs/config.h"
#include "partition/planner/cluster/cluster.h"
#include "partition/planner/plan/plan.h"
#include "partition/planner/plan/plan_estimate.h"
#include "runtime/planning/cluster_plan.h"

namespace penstock::runtime {

// The two ways to plan a recipe. plan_for_ranks() cuts the layers for the stages and replicas that
// the recipe names. plan_for_cluster() chooses these, too, with the devices, for a described
// cluster. Both read data.train, and count memory and time as the run does.

/// The plan of a recipe for its own stages and replicas.
struct RankPlan {
  partition::Plan plan;
  partition::PlanEstimate estimate;
  std::string not_counted = {};  // for people: memory that the plan's bytes leave out; empty: none
};

/// Returns the plan that training `recipe` makes for the utterances of data.train. Costs are
/// measured on this machine or computed. If trainer.resume continues a run, its lanes and order
/// stay. Throws ConfigError, DataError and CheckpointError like train().
[[nodiscard]] RankPlan plan_for_ranks(const configs::Config& recipe, bool measure);

/// Plans the training of `recipe` on the cluster: calls find_best_plan() for the utterances of
/// data.train. Costs are constraints.costs, or else computed for the cluster's first kind of
/// device, or else for trainer.device. Memory is counted as the runtime counts it.
///
/// If the cluster names devices, their backend overrides trainer.device. Schedules are those that
/// pipeline.schedule may name, or constraints.schedule alone; pipeline.memory_gib limits every
/// device in addition to its memory. If the recipe does not fix recomputation, the plan may
/// recompute within residual units (Candidate::selective). If the recipe does not shard the
/// optimizer, the plan may.
///
/// If trainer.resume continues a run, that run's batches, lanes and order stay. Throws ConfigError
/// and DataError like train() and find_best_plan(), and ConfigError if measured costs are of
/// another model.
[[nodiscard]] ClusterPlan plan_for_cluster(const configs::Config& recipe,
                                           const partition::Cluster& cluster,
                                           const ClusterConstraints& constraints);

}  // namespace penstock::runtime
