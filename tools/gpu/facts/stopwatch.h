#pragma once

#include <functional>

#include "layers/cuda/core/cuda_stream.h"

namespace penstock::tools {

/// Microseconds in which the host enqueues work, and in which the device does it.
struct Times {
  double host = 0, device = 0;
};

/// Returns the times of `work`, which enqueues on the stream: the shortest of several runs, after
/// one warm-up run. Waits for the device between runs.
[[nodiscard]] Times time_of(layers::CudaStream& stream, const std::function<void()>& work);

inline Times operator-(const Times& a, const Times& b) {
  return {a.host - b.host, a.device - b.device};
}
inline Times operator/(const Times& a, double count) { return {a.host / count, a.device / count}; }

/// Starts a kernel that does nothing.
void launch_nothing(const layers::CudaStream& stream);

}  // namespace penstock::tools
