#pragma once

#include <string>

#include "partition/choose/sequence_steps.h"

namespace penstock::partition {

/// What keeps a placed layer sequence from being faster, by the closed form: memory, where another
/// cut for the same devices would be faster without limits, or nothing fits without activation
/// recomputation; and what the slowest stage spends most of its load on.
std::string bottleneck_of(const SequencePlan& plan);

}  // namespace penstock::partition
