#pragma once

#include <string>

#include "partition/planner/choose/sequence/sequence_steps.h"

namespace penstock::partition {

/// Returns text on what keeps a placed layer sequence from being faster, by the closed form. It
/// names memory if a cut for the same devices would be faster without limits, or if nothing fits
/// without activation recomputation. It also names the largest part of the slowest stage's load.
std::string bottleneck_of(const SequencePlan& plan);

}  // namespace penstock::partition
