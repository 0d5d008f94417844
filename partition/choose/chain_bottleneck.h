#pragma once

#include <string>

#include "partition/choose/chain_steps.h"

namespace penstock {

/// What keeps a placed chain from being faster, by the closed form: memory, where another cut for
/// the same devices would be faster without limits, or nothing fits without activation
/// recomputation; and what the slowest stage spends most of its load on.
std::string bottleneck_of(const ChainPlan& plan);

}  // namespace penstock
