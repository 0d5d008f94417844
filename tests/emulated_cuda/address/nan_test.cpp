// Memory that was never written reads as NaN in the build that does not watch loads for it.

#include <gtest/gtest.h>

#include <cmath>

#include "layers/cuda/core/block.h"
#include "layers/cuda/core/launch.h"
#include "tests/emulated_cuda/device_array.h"

namespace emulated_cuda::test {
namespace {

constexpr int kThreads = 70;

__global__ void add_shared(float* out) {
  BLOCK_SHARED(float, tile, [kThreads]);
  out[threadIdx.x] += tile[threadIdx.x];
  tile[threadIdx.x] = 0;  // the next block finds none of this
}

TEST(Unwritten, MemoryIsNan) {
  const penstock::layers::cuda::StreamHandle stream = penstock::layers::cuda::make_stream_handle();
  const DeviceArray<float> array(kThreads);
  for (float value : array.values(stream.get())) EXPECT_TRUE(std::isnan(value));
  std::ranges::fill(array.pinned(), 1.0f);
  array.upload(stream.get());
  penstock::layers::cuda::launch(stream.get(), {dim3(2), dim3(kThreads)}, add_shared, array.data());
  for (float value : array.values(stream.get())) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace emulated_cuda::test
