#pragma once

#include <cstddef>
#include <functional>

namespace penstock {

/// Calls body(i) for every i below `count`, on up to `threads` threads, 0: as many as the process
/// has cores, in no order. The first exception is passed on once all threads have ended; later
/// items may then be left out.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

}  // namespace penstock
