#pragma once

#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/choose/problem.h"
#include "runtime/planning/cluster_plan.h"
#include "runtime/planning/recipe_data.h"

namespace penstock::runtime {

/// What the executor runs, the one that wins a tie first; but for found, which is sought for the
/// best of the others, also where it is requested. Empty `requested`: any. ConfigError for another
/// name, and for a file.
[[nodiscard]] std::vector<std::string> trained_schedules(const configs::Config& config,
                                                         const std::string& requested);

/// Ways to share out as much audio a step as `data` does, fewest micro-batches first: so few as
/// hold the longest utterance, and at most `most`.
[[nodiscard]] std::vector<partition::BatchChoice> batch_choices(const configs::DataConfig& data,
                                                                double longest, int most);

/// What to plan, without its costs, step and bytes. `planned` has its layer sequences.
[[nodiscard]] partition::PlanningProblem problem_of(const ClusterPlan& planned,
                                                    const configs::Config& recipe,
                                                    const RecipeData& data,
                                                    const partition::Cluster& cluster,
                                                    const ClusterConstraints& constraints);

}  // namespace penstock::runtime
