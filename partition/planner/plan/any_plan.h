#pragma once

#include <string>

#include "partition/planner/plan/plan.h"

namespace penstock::partition {

/// Parses the text of a plan file of any model, as read_any_plan() does. `name` is its name in
/// messages.
[[nodiscard]] Plan parse_any_plan(const std::string& text, const std::string& name);

}  // namespace penstock::partition
