#pragma once

#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/planner/choose/problem.h"
#include "runtime/planning/cluster_plan.h"
#include "runtime/planning/recipe_data.h"

namespace penstock::runtime {

/// Returns the schedules that the executor runs, or only `requested` if it names one. The first one
/// wins a tie. "found" is left out, even if it is requested: it is searched for the best of the
/// others. Throws ConfigError for an unknown name and for a file.
[[nodiscard]] std::vector<std::string> trained_schedules(const configs::Config& config,
                                                         const std::string& requested);

/// Returns the ways to divide a step as long as that of `data`, fewest micro-batches first. Each
/// micro-batch holds the longest utterance, and there are at most `max`. The numbers are powers of
/// two and one and a half times these.
[[nodiscard]] std::vector<partition::BatchDivision> batch_divisions(const configs::DataConfig& data,
                                                                    double longest, int max);

/// Returns the planning problem without costs, steps and bytes. `planned` must have its layer
/// sequences.
[[nodiscard]] partition::PlanningProblem problem_of(const ClusterPlan& planned,
                                                    const configs::Config& recipe,
                                                    const RecipeData& data,
                                                    const partition::Cluster& cluster,
                                                    const ClusterConstraints& constraints);

}  // namespace penstock::runtime
