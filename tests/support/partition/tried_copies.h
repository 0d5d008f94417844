#pragma once

#include <cstddef>
#include <functional>

#include "partition/schedule/schedule.h"

namespace penstock::test {

/// Calls visit(lists) for every way to offload from complete lists without offload: which
/// micro-batches leave each chunk, as few as can be or one more, between which passes they do, and
/// between which they come back. No chunk has more than `resident` on the device along its list, or
/// as many as any way needs. Copies between the same two passes are in the order of passes. Returns
/// how many ways there are; where these are more than `most`, none is visited.
std::size_t try_copies(const partition::Schedule& whole, int resident, std::size_t max,
                       const std::function<void(const partition::Schedule&)>& visit);

}  // namespace penstock::test
