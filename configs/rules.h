#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"

namespace penstock {

/// What is wrong with values that are each allowed but do not go together; one message each, ended
/// by where the values were set, which `where` says of a key.
std::vector<std::string> contradictions(const Config& config,
                                        const std::function<std::string(std::string_view)>& where);

}  // namespace penstock
