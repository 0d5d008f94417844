#pragma once

#include <string>

#include "configs/config.h"
#include "partition/planner/plan/plan.h"
#include "partition/planner/report/plan_view.h"
#include "runtime/planning/plan.h"

namespace penstock::tools {

// These functions compute what `penstock plan` adds to a plan: how sure it is, and its checkpoint.

/// Adds facts on how far a plan of computed costs may be off, and whether another plan would then
/// be better. Adds nothing for a plan of measured costs.
void add_uncertainty(const runtime::ClusterPlan& planned, partition::PlanView& view);

/// Size of a planned run's checkpoint, and the time in which disks write it.
struct PlannedCheckpoint {
  double bytes = 0, seconds = 0;
  double copy = 0;  // bytes that the rank with the most copies to host memory
};

/// Returns the checkpoint of a planned run. `gb_per_s` is the bandwidth of the file system of
/// trainer.output for all ranks together. Running statistics, some KB, are left out.
[[nodiscard]] PlannedCheckpoint checkpoint_of(const configs::Config& recipe,
                                              const partition::Plan& plan, double gb_per_s);

/// Formats it as "112 GiB, which takes 12 s to write at 10 GB/s, from copies of up to about 67.1
/// GiB a rank".
[[nodiscard]] std::string text_of(const PlannedCheckpoint& checkpoint, double gb_per_s);

}  // namespace penstock::tools
