#pragma once

#include <string>
#include <vector>

namespace penstock::tools {

/// Runs `penstock plan A B --diff`: prints the differences between two plan files, as one JSON
/// object or as a table. ConfigError unless `files` are two plan files.
int run_plan_diff(const std::vector<std::string>& files, bool json);

}  // namespace penstock::tools
