#include "layers/cuda/column_sums.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/numbers.h"
#include "layers/ops/bias.h"

namespace penstock::layers {
namespace cuda {
namespace {

template <class T>
__global__ void add_bias(const T* bias_C, int channels, const T* x, T* y, std::int64_t count) {
  const std::int64_t i = grid_thread();
  if (i < count) y[i] = from_float<T>(to_float(x[i]) + to_float(bias_C[i % channels]));
}

template <class T>
struct OutputGradients {
  static constexpr int kSums = 1;
  const T* dy;
  __device__ void add(std::int64_t element, int, double* sums) const {
    sums[0] += static_cast<double>(to_float(dy[element]));
  }
};

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const AddBias& op) {
  cuda::with_type_of(op.x, "AddBias", [&]<class T>(T) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.x.size()),
                 cuda::add_bias<T>, cuda::data_of<T>(op.bias_C), static_cast<int>(op.bias_C.size()),
                 cuda::data_of<T>(op.x), cuda::data_of<T>(op.y), op.x.size());
  });
}

template <>
void CudaBackend::compute(Stream& stream, const BiasBackwardWeight& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const int channels = static_cast<int>(op.d_bias_C.size());
  const std::int64_t rows = op.dy.size() / channels;
  cuda::with_type_of(op.dy, "BiasBackwardWeight", [&]<class T>(T) {
    using Term = cuda::OutputGradients<T>;
    Scratch scratch = own.scratch();
    auto* const sums = scratch.take<double>(channels);
    auto* const partial = scratch.take<double>(cuda::partial_count<Term>(rows, channels));
    cuda::sum_columns(own.handle(), Term{cuda::data_of<T>(op.dy)},
                      {.rows = rows, .columns = channels, .partial = partial, .sums = sums});
    cuda::add_to(own.handle(), sums, channels, cuda::data_of<float>(op.d_bias_C));
  });
}

}  // namespace penstock::layers
