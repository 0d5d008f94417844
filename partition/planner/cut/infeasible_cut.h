#pragma once

#include "partition/planner/cut/partitioner.h"

namespace penstock::partition {

/// Throws ConfigError unless there is at least one stage, and a layer for each.
void check_counts(const PartitionProblem& problem);

/// Throws ConfigError for a problem without a cut that fits into memory. The message says how much
/// the cut that comes closest needs, on which stage, and what would help.
[[noreturn]] void throw_infeasible_cut(const PartitionProblem& problem);

}  // namespace penstock::partition
