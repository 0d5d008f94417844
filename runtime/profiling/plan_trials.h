#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"

namespace penstock::runtime {

/// Median seconds of the recipe's first `steps` steps under each of rank 0's plans, which are texts
/// as plan_toml() makes them, for the recipe's stages, replicas and schedule; the other ranks
/// need not know them. Plans take turns of three steps, each from fresh weights on the ranks of the
/// job, behind the step before (or the first) once more to warm up. All ranks call it and are told
/// the same.
/// ConfigError where the job has other ranks than the recipe; else as ProfilingRun and parse_plan.
std::vector<double> try_plans(comm::Communicator& world, const configs::Config& recipe,
                              const std::vector<std::string>& plans, int steps);

}  // namespace penstock::runtime
