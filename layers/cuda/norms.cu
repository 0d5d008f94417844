#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/launch.h"
#include "layers/cuda/numbers.h"
#include "layers/cuda/reduce.h"
#include "layers/ops/optimizer.h"

namespace penstock {
namespace cuda {
namespace {

constexpr int kThreads = 256;

struct Square {
  __device__ double operator()(double value) const { return value * value; }
};

struct Magnitude {
  __device__ double operator()(double value) const { return fabs(value); }
};

/// The larger one; NaN if either is.
struct LargestOrNan {
  __device__ double operator()(double a, double b) const { return a > b || a != a ? a : b; }
};

/// What `map` makes of the numbers of one kNormBlock, combined, for each block of threads; FP64, in
/// an order of its own but fixed.
template <class Map, class Combine>
__global__ void __launch_bounds__(kThreads)
    combine_norm_blocks(const float* values, std::int64_t count, double* combined) {
  BLOCK_SHARED(double, of_warp, [kThreads / kWarp]);
  const std::int64_t begin = block_x() * kNormBlock;
  const std::int64_t end = begin + kNormBlock < count ? begin + kNormBlock : count;
  double all = 0;
  for (std::int64_t i = begin + thread_x(); i < end; i += kThreads)
    all = Combine()(all, Map()(static_cast<double>(values[i])));
  all = combine_block(all, of_warp, Combine());
  if (thread_x() == 0) combined[block_x()] = all;
}

template <class Map, class Combine>
void combine_blocks(CudaStream& stream, const Tensor& values, std::span<double> combined) {
  auto* const device = stream.scratch().take<double>(static_cast<std::int64_t>(combined.size()));
  launch(stream.handle(), {dim3(static_cast<unsigned>(combined.size())), dim3(kThreads)},
         combine_norm_blocks<Map, Combine>, data_of<float>(values), values.size(), device);
  stream.copy_out(combined.data(), device, combined.size_bytes());
}

}  // namespace
}  // namespace cuda

void CudaBackend::run(Stream& stream, const SquaredSums& op) {
  cuda::combine_blocks<cuda::Square, cuda::Sum>(static_cast<CudaStream&>(stream), op.values,
                                                op.sums);
}

void CudaBackend::run(Stream& stream, const LargestMagnitude& op) {
  cuda::combine_blocks<cuda::Magnitude, cuda::LargestOrNan>(static_cast<CudaStream&>(stream),
                                                            op.values, op.largest);
}

}  // namespace penstock
