#pragma once

#include <filesystem>

#include "partition/plan/plan.h"

namespace penstock::partition {

/// A plan file as it stands, of whatever model, to be looked at and not trained: layers have no
/// places. ConfigError where it can't be read, or a stage has no layers or no ranks.
Plan read_any_plan(const std::filesystem::path& file);

}  // namespace penstock::partition
