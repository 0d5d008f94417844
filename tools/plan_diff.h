#pragma once

#include <string>
#include <vector>

namespace penstock::tools {

/// `penstock plan A B --diff`: what two plan files say differently, as one JSON object or as a
/// table. ConfigError unless `files` are two plan files.
int run_plan_diff(const std::vector<std::string>& files, bool json);

}  // namespace penstock::tools
