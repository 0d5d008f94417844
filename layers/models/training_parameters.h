#pragma once

#include <string_view>

namespace penstock::layers {

/// Returns true for parameters that serve training alone: the vector of masked frames, and losses
/// after blocks on which nothing depends. A checkpoint may have them or not.
[[nodiscard]] bool serves_training_alone(std::string_view name);

}  // namespace penstock::layers
