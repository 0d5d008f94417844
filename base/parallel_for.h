#pragma once

#include <cstddef>
#include <functional>

namespace penstock {

/// Calls body(i) for every i below `count`, in no order, on up to `threads` threads (0: one per
/// core). The first exception is raised again after all threads have ended; later items may then be
/// skipped.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

}  // namespace penstock
