#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"

namespace penstock::runtime {

/// Returns the median seconds of the recipe's first `steps` steps under each of rank 0's plans. The
/// plans are texts of plan_toml() for the recipe's stages, replicas and schedule; the other ranks
/// need not know them. Plans alternate every three steps. Each turn starts from fresh weights and
/// repeats the step before (or the first) as a warm-up. All ranks call this together and get the
/// same medians. Throws ConfigError if the job has another number of ranks than the recipe, and
/// otherwise like ProfilingRun and parse_plan().
std::vector<double> try_plans(comm::Communicator& world, const configs::Config& recipe,
                              const std::vector<std::string>& plans, int steps);

}  // namespace penstock::runtime
