#include "layers/ops/linear.h"

#include <algorithm>

#include "layers/cpu/column_sums.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/products/product.h"

namespace penstock::layers {
namespace {

// Copies the bias into y, if there is one, and adds the product to it.
template <class T>
void forward(const LinearForward& op) {
  const std::int64_t rows = op.x_FI.shape[0], in = op.w_OI.shape[1], out = op.w_OI.shape[0];
  T* y = op.y_FO.as<T>();
  const bool bias = op.b_O.data != nullptr;
  if (bias)
    for (std::int64_t f = 0; f < rows; ++f) std::copy_n(op.b_O.as<T>(), out, y + f * out);
  run_product(Product<T>{.m = rows,
                         .n = out,
                         .k = in,
                         .a = {op.x_FI.as<T>(), in},
                         .b = {op.w_OI.as<T>(), in, true},
                         .c = y,
                         .c_stride = out,
                         .beta = static_cast<T>(bias ? 1 : 0)});
}

// Computes dx = dy · W, with W as it is stored.
template <class T>
void backward_input(const LinearBackwardInput& op) {
  const std::int64_t rows = op.dy_FO.shape[0], in = op.w_OI.shape[1], out = op.w_OI.shape[0];
  run_product(Product<T>{.m = rows,
                         .n = in,
                         .k = out,
                         .a = {op.dy_FO.as<T>(), out},
                         .b = {op.w_OI.as<T>(), in},
                         .c = op.dx_FI.as<T>(),
                         .c_stride = in});
}

// Computes dW += dy^T · x: the frames are the inner dimension.
template <class T>
void backward_weight(const LinearBackwardWeight& op) {
  const std::int64_t rows = op.x_FI.shape[0], in = op.dw_OI.shape[1], out = op.dw_OI.shape[0];
  run_product(Product<T>{.m = out,
                         .n = in,
                         .k = rows,
                         .a = {op.dy_FO.as<T>(), out, true},
                         .b = {op.x_FI.as<T>(), in},
                         .c = op.dw_OI.as<T>(),
                         .c_stride = in,
                         .beta = 1});
  if (op.db_O.data != nullptr) add_column_sums(op.dy_FO.as<T>(), rows, out, out, op.db_O.as<T>());
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const LinearForward& op) {
  for_real(op.x_FI.dtype, "linear", [&]<class T>(T) { forward<T>(op); });
}

template <>
void CpuBackend::compute(Stream&, const LinearBackwardInput& op) {
  for_real(op.dy_FO.dtype, "linear", [&]<class T>(T) { backward_input<T>(op); });
}

template <>
void CpuBackend::compute(Stream&, const LinearBackwardWeight& op) {
  for_real(op.x_FI.dtype, "linear", [&]<class T>(T) { backward_weight<T>(op); });
}

}  // namespace penstock::layers
