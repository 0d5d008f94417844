#pragma once

#include <filesystem>

#include "partition/planner/plan/plan.h"

namespace penstock::partition {

/// Reads a plan file of any model, for display and not for training: ChunkPlan::first is not set.
/// Throws ConfigError if the file cannot be read, or if a stage has no layers or no ranks.
Plan read_any_plan(const std::filesystem::path& file);

}  // namespace penstock::partition
