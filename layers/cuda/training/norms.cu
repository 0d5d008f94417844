#include <cfloat>

#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/core/reduce.h"
#include "layers/ops/norms.h"

namespace penstock::layers {
namespace cuda {
namespace {

constexpr int kThreads = 256;

struct Square {
  __device__ double operator()(double value) const { return value * value; }
};

struct Magnitude {
  __device__ double operator()(double value) const { return fabs(value); }
};

/// Returns the larger one, or NaN if either is NaN.
struct LargestOrNan {
  __device__ double operator()(double a, double b) const { return a > b || a != a ? a : b; }
};

/// Combines Map() of all numbers of an arena block, in FP64 and in a fixed order. One block of
/// threads for each arena block.
template <class Map, class Combine>
__global__ void __launch_bounds__(kThreads)
    combine_norm_blocks(const ArenaBlock* blocks, ArenaOf of, const float* arena,
                        double* combined) {
  BLOCK_SHARED(double, of_warp, [kThreads / kWarp]);
  const ArenaBlock block = blocks[block_x()];
  const float* const values = arena + (of == ArenaOf::weights ? block.weight : block.gradient);
  double all = 0;
  for (std::int64_t i = thread_x(); i < block.count; i += kThreads)
    all = Combine()(all, Map()(static_cast<double>(values[i])));
  all = combine_block(all, of_warp, Combine());
  if (thread_x() == 0) combined[block.place] = all;
}

template <class Map, class Combine, class Op>
void combine_blocks(Stream& stream, const Op& op, double* combined) {
  launch(static_cast<CudaStream&>(stream).handle(),
         {dim3(static_cast<unsigned>(op.blocks.count)), dim3(kThreads)},
         combine_norm_blocks<Map, Combine>, op.blocks.first, op.of, data_of<float>(op.arena),
         combined);
}

/// Computes the gradient norm, the clip coefficient, and whether to skip the update, in one block.
/// All threads fetch the blocks' sums; thread 0 adds them in the order of the blocks. A norm that
/// is infinite or NaN fails the last comparison, and the update is skipped.
__global__ void __launch_bounds__(kThreads) gradient_norm_kernel(GradientNorm op) {
  BLOCK_SHARED(double, sums, [kThreads]);
  BLOCK_SHARED(double, of_warp, [kThreads / kWarp]);
  double sum = 0, largest = 0;
  for (std::int64_t begin = 0; begin < op.blocks; begin += kThreads) {
    const std::int64_t own = begin + thread_x(), left = op.blocks - begin;
    if (own < op.blocks) {
      sums[thread_x()] = op.sums[own];
      if (op.largest != nullptr) largest = LargestOrNan()(largest, op.largest[own]);
    }
    __syncthreads();
    for (int i = 0; thread_x() == 0 && i < kThreads && i < left; ++i) sum += sums[i];
    __syncthreads();
  }
  largest = combine_block(largest, of_warp, LargestOrNan());
  if (thread_x() != 0) return;
  const double norm = sqrt(sum) / op.loss_scale;
  double clip = 1;
  if (op.clip_norm != 0 && op.clip_norm / (norm + 1e-6) < 1) clip = op.clip_norm / (norm + 1e-6);
  *op.result = {norm, clip / op.loss_scale, largest / op.loss_scale, norm <= DBL_MAX ? 0 : 1};
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const SquaredSums& op) {
  cuda::combine_blocks<cuda::Square, cuda::Sum>(stream, op, op.sums);
}

template <>
void CudaBackend::compute(Stream& stream, const LargestMagnitude& op) {
  cuda::combine_blocks<cuda::Magnitude, cuda::LargestOrNan>(stream, op, op.largest);
}

template <>
void CudaBackend::compute(Stream& stream, const GradientNorm& op) {
  cuda::launch(static_cast<CudaStream&>(stream).handle(), {dim3(1), dim3(cuda::kThreads)},
               cuda::gradient_norm_kernel, op);
}

}  // namespace penstock::layers
