#pragma once

#include "configs/config.h"
#include "partition/planner/cluster/cluster.h"
#include "runtime/planning/cluster_plan.h"

namespace penstock::runtime {

/// Plans the training of `recipe` on the cluster: calls decide() for the utterances of data.train.
/// Costs are constraints.costs, or else computed for the cluster's first kind of device, or else
/// for trainer.device. Memory is counted as the runtime counts it.
///
/// If the cluster names devices, their backend overrides trainer.device. Schedules are those that
/// pipeline.schedule may name, or constraints.schedule alone; pipeline.memory_gib limits every
/// device in addition to its memory. If the recipe does not fix recomputation, the plan may
/// recompute within residual units (PlanChoice::selective). If the recipe does not shard the
/// optimizer, the plan may.
///
/// If trainer.resume continues a run, that run's batches, lanes and order stay. Throws ConfigError
/// and DataError like train() and decide(), and ConfigError if measured costs are of another model.
[[nodiscard]] ClusterPlan plan_on_cluster(const configs::Config& recipe,
                                          const partition::Cluster& cluster,
                                          const ClusterConstraints& constraints);

}  // namespace penstock::runtime
