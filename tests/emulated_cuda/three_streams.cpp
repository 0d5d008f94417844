#include "tests/emulated_cuda/three_streams.h"

#include "layers/cuda/core/block.h"
#include "layers/cuda/core/launch.h"
#include "tests/emulated_cuda/device_array.h"

namespace emulated_cuda::test {
namespace {

using penstock::layers::cuda::EventHandle;
using penstock::layers::cuda::launch;
using penstock::layers::cuda::make_event_handle;
using penstock::layers::cuda::make_stream_handle;
using penstock::layers::cuda::StreamHandle;

constexpr std::size_t kSize = 300;

__global__ void square(const int* from, int* to) {
  const auto i = static_cast<std::size_t>(penstock::layers::cuda::grid_thread());
  if (i < kSize) to[i] = from[i] * from[i];
}

}  // namespace

int wrong_squares(const ThreeStreams& options) {
  const StreamHandle up = make_stream_handle(), compute = make_stream_handle();
  const StreamHandle down = make_stream_handle();
  const EventHandle uploaded = make_event_handle(), computed = make_event_handle();
  const DeviceArray<int> from(kSize), to(kSize);
  for (std::size_t i = 0; i < kSize; ++i) from.pinned()[i] = static_cast<int>(i);
  from.upload(up.get());
  check(cudaEventRecord(uploaded.get(), up.get()), "recording");
  if (options.with_events) check(cudaStreamWaitEvent(compute.get(), uploaded.get()), "waiting");
  launch(compute.get(), penstock::layers::cuda::grid_over(kSize), square, from.data(), to.data());
  check(cudaEventRecord(computed.get(), compute.get()), "recording");
  if (options.with_events) check(cudaStreamWaitEvent(down.get(), computed.get()), "waiting");
  const std::vector<int> found = to.values(down.get());
  int wrong = 0;
  for (std::size_t i = 0; i < kSize; ++i) wrong += found[i] != static_cast<int>(i * i);
  return wrong;
}

}  // namespace emulated_cuda::test
