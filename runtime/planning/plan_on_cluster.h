#pragma once

#include "configs/config.h"
#include "partition/cluster/cluster.h"
#include "runtime/planning/cluster_plan.h"

namespace penstock::runtime {

/// The plan for training `recipe` on the cluster: decide() for the utterances of data.train, with
/// constraints.costs or costs computed for the device that the cluster's first kind names, or else
/// that trainer.device does, and the runtime's own account of memory. A cluster that names devices
/// is planned for their backend, whatever trainer.device says. Schedules are those of
/// pipeline.schedule; pipeline.memory_gib limits every device besides its memory. Unless the recipe
/// says what is recomputed, the plan may remake within residual units (PlanChoice::selective), and
/// unless it shards the optimizer, the plan may.
/// Where trainer.resume goes on with a run, that run's batches, lanes and order stay. ConfigError
/// and DataError as train(), as decide(), and for measured costs of another model.
[[nodiscard]] ClusterPlan plan_on_cluster(const configs::Config& recipe,
                                          const partition::Cluster& cluster,
                                          const ClusterConstraints& constraints);

}  // namespace penstock::runtime
