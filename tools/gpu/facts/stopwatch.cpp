#include "tools/gpu/facts/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "layers/tensor/cuda/handles.h"

namespace penstock::tools {
namespace {

using layers::cuda::check;
constexpr int kRuns = 5;

}  // namespace

// The host's time is that of enqueueing alone. The device's is between two events on the stream
// around the work, so gaps in which the device waits for the host count to it. The shortest run is
// reported: others are longer because of something else on the machine. Run -1 warms up, and is not
// counted.
Times time_of(layers::CudaStream& stream, const std::function<void()>& work) {
  const auto begin = layers::cuda::make_timing_event_handle();
  const auto end = layers::cuda::make_timing_event_handle();
  constexpr double none = std::numeric_limits<double>::infinity();
  Times min{none, none};
  for (int run = -1; run < kRuns; ++run) {
    check(cudaEventRecord(begin.get(), stream.handle()), "marking a stream");
    const auto before = std::chrono::steady_clock::now();
    work();
    const auto after = std::chrono::steady_clock::now();
    check(cudaEventRecord(end.get(), stream.handle()), "marking a stream");
    stream.synchronize();
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "reading two marks");
    if (run < 0) continue;
    min.host =
        std::min(min.host, std::chrono::duration<double, std::micro>(after - before).count());
    min.device = std::min(min.device, 1e3 * static_cast<double>(milliseconds));
  }
  return min;
}

}  // namespace penstock::tools
