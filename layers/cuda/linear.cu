#include "layers/cuda/column_sums.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/numbers.h"
#include "layers/ops/linear.h"

namespace penstock::layers {
namespace cuda {
namespace {

template <class T>
struct LinearBiasGradient {
  static constexpr int kSums = 1;
  const T* dy;
  __device__ void add(std::int64_t element, int, double* sums) const {
    sums[0] += to_float(dy[element]);
  }
};

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const LinearForward& op) {
  products_.run(static_cast<CudaStream&>(stream),
                {.a = op.x_FI,
                 .b = op.w_OI,
                 .d = op.y_FO,
                 .transpose_b = true,
                 .bias = op.b_O.data == nullptr ? nullptr : &op.b_O});
}

template <>
void CudaBackend::compute(Stream& stream, const LinearBackwardInput& op) {
  products_.run(static_cast<CudaStream&>(stream), {.a = op.dy_FO, .b = op.w_OI, .d = op.dx_FI});
}

template <>
void CudaBackend::compute(Stream& stream, const LinearBackwardWeight& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const std::int64_t rows = op.dy_FO.shape.at(0);
  if (rows == 0) return;
  products_.run(
      own, {.a = op.dy_FO, .b = op.x_FI, .d = op.dw_OI, .transpose_a = true, .accumulate = true});
  if (op.db_O.data == nullptr) return;
  const int columns = static_cast<int>(op.dy_FO.shape.at(1));
  cuda::with_type_of(op.dy_FO, "LinearBackwardWeight", [&]<class T>(T) {
    using Term = cuda::LinearBiasGradient<T>;
    Scratch scratch = own.scratch();
    auto* const sums = scratch.take<double>(columns);
    auto* const partial = scratch.take<double>(cuda::partial_count<Term>(rows, columns));
    cuda::sum_columns(own.handle(), Term{cuda::data_of<T>(op.dy_FO)},
                      {.rows = rows, .columns = columns, .partial = partial, .sums = sums});
    cuda::add_to(own.handle(), sums, columns, cuda::data_of<float>(op.db_O));
  });
}

}  // namespace penstock::layers
