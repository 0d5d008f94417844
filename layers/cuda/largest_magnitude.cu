#include "layers/cuda/block.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/launch.h"
#include "layers/cuda/numbers.h"
#include "layers/ops/optimizer.h"

namespace penstock {
namespace cuda {
namespace {

constexpr int kThreads = 256;

/// The larger one; NaN if either is.
__device__ double larger(double a, double b) { return a > b || a != a ? a : b; }

/// max |values| over one kNormBlock for each block of threads.
__global__ void __launch_bounds__(kThreads)
    largest_of_blocks(const float* values, std::int64_t count, double* largest) {
  BLOCK_SHARED(double, of_warp, [kThreads / kWarp]);
  const std::int64_t begin = block_x() * kNormBlock;
  const std::int64_t end = begin + kNormBlock < count ? begin + kNormBlock : count;
  double top = 0;
  for (std::int64_t i = begin + thread_x(); i < end; i += kThreads)
    top = larger(top, fabs(static_cast<double>(values[i])));
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    top = larger(top, shuffle_down(top, distance));
  if (thread_x() % kWarp == 0) of_warp[thread_x() / kWarp] = top;
  sync_block();
  if (thread_x() != 0) return;
  for (int warp = 1; warp < kThreads / kWarp; ++warp) top = larger(top, of_warp[warp]);
  largest[block_x()] = top;
}

}  // namespace
}  // namespace cuda

void CudaBackend::run(Stream& stream, const LargestMagnitude& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const auto blocks = static_cast<std::int64_t>(op.largest.size());
  auto* const largest = own.scratch().take<double>(blocks);
  cuda::launch(own.handle(), {dim3(static_cast<unsigned>(op.largest.size())), dim3(cuda::kThreads)},
               cuda::largest_of_blocks, cuda::data_of<float>(op.values), op.values.size(), largest);
  own.copy_out(op.largest.data(), largest, op.largest.size_bytes());
}

}  // namespace penstock
