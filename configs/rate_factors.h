#pragma once

#include <string>
#include <vector>

#include "configs/config.h"

namespace penstock::configs {

/// An entry of optimizer.learning_rates.
struct RateFactor {
  std::string pattern;  // pattern of parameter names; see base/glob.h
  double factor = 1;    // factor of the learning rate, above 0
};

/// Parses optimizer.learning_rates, in its order. ConfigError names each entry that is not
/// "pattern: factor".
std::vector<RateFactor> rate_factors(const OptimizerConfig& optimizer);

}  // namespace penstock::configs
