#include "layers/cuda/core/cuda_backend.h"
#include "layers/ops/linear.h"

// Linear layers are three products by cuBLASLt; layers/ops/linear.h has the formulas. The bias is
// part of the first one. Its gradient is a column sum (bias.cu). Weight gradients are added in
// place, in FP32 even if the factors have 16 bits. Without frames there is nothing to add to them.

namespace penstock::layers {

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
  if (op.dy_FO.shape.at(0) == 0) return;
  products_.run(
      own, {.a = op.dy_FO, .b = op.x_FI, .d = op.dw_OI, .transpose_a = true, .accumulate = true});
  if (op.db_O.data != nullptr) run(stream, BiasBackwardWeight{op.dy_FO, op.db_O});
}

}  // namespace penstock::layers
