#pragma once

#include <functional>

#include "layers/cuda/cuda_stream.h"

namespace penstock::tools {

/// Microseconds that the host takes to ask for something, and the device to do it.
struct Times {
  double host = 0, device = 0;
};

/// Of `work`, which asks the stream for something: the least of several runs, behind one that is
/// not counted. Waits for the device between runs.
[[nodiscard]] Times time_of(layers::CudaStream& stream, const std::function<void()>& work);

inline Times operator-(const Times& a, const Times& b) {
  return {a.host - b.host, a.device - b.device};
}
inline Times operator/(const Times& a, double count) { return {a.host / count, a.device / count}; }

}  // namespace penstock::tools
