#include "layers/ops/recurrence.h"

#include "layers/cpu/column_sums.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/products/product.h"
#include "layers/cpu/recurrence/recurrence_backward.h"
#include "layers/cpu/recurrence/recurrence_forward.h"
#include "layers/cpu/sizes.h"

// Recurrences (tanh, GRU, LSTM), one direction after the other; layers/ops/recurrence.h has the
// formulas. U is packed once per pass, and each step multiplies it by the states of the utterances
// that have a frame left. Weight gradients are products over all frames of a direction.

namespace penstock::layers {
namespace {

template <class T, template <class> class Gates>
void forward(Stream& stream, const RecurrenceForward& op) {
  const ForwardScratch<T> scratch(op.shape, Scratch(op.workspace));
  for (std::int64_t d = 0; d < op.shape.directions; ++d)
    ForwardDirection<T, Gates>(op, scratch, d).run(stream);
}

template <class T, template <class> class Gates>
void backward(Stream& stream, const RecurrenceBackwardInput& op) {
  const BackwardScratch<T> scratch(op.shape, Scratch(op.workspace));
  for (std::int64_t d = 0; d < op.shape.directions; ++d)
    BackwardDirection<T, Gates>(op, scratch, d).run(stream);
}

/// Adds dg_FG^T · h_FH to dW_GH for `m` rows of U, and the column sums to db_G.
template <class T>
void add_weight_gradient(const Product<T>& dw, T* db) {
  run_product(dw);
  add_column_sums(dw.a.data, dw.k, dw.m, dw.a.stride, db);
}

// With dg the gradient of U h + c, dU += dg^T · h over all frames of a direction, and dc += Σ dg.
// dg is dp, but for a GRU's gate n.
template <class T>
void backward_weight(const RecurrenceBackwardWeight& op) {
  const std::int64_t frames = op.dp_FP.shape[0], hidden = op.shape.hidden,
                     gated = op.shape.gates() * hidden;
  const bool is_gru = op.shape.kind == RecurrenceKind::gru;
  const std::int64_t rows =
      is_gru ? 2 * hidden : gated;  // rows of U whose products have the gradient dp
  for (std::int64_t d = 0; d < op.shape.directions; ++d) {
    const Factor<T> dp{op.dp_FP.as<T>() + d * gated, op.shape.directions * gated, true};
    const T* const previous = op.previous_DFH.as<T>() + d * frames * hidden;
    T* const dw = op.dw_DGH.as<T>() + d * gated * hidden;
    T* const db = op.db_DG.as<T>() + d * gated;
    Product<T> product{.m = rows,
                       .n = hidden,
                       .k = frames,
                       .a = dp,
                       .b = {previous, hidden},
                       .c = dw,
                       .c_stride = hidden,
                       .beta = 1};
    add_weight_gradient(product, db);
    // The gate n multiplies U_n h + c_n by r, so the gradient of its rows of U is dn, not dp.
    if (is_gru) {
      product.m = hidden;
      product.a = {op.dn_DFH.as<T>() + d * frames * hidden, hidden, true};
      product.c = dw + rows * hidden;
      add_weight_gradient(product, db + rows);
    }
  }
}

/// Calls run.operator()<T, Gates>() for a number format and a kind.
template <class Run>
void for_gates(RecurrenceKind kind, DType dtype, const Run& run) {
  for_real(dtype, "recurrence", [&]<class T>(T) {
    switch (kind) {
      case RecurrenceKind::tanh:
        return run.template operator()<T, TanhGates>();
      case RecurrenceKind::gru:
        return run.template operator()<T, GruGates>();
      case RecurrenceKind::lstm:
        return run.template operator()<T, LstmGates>();
    }
  });
}

template <class T>
Workspace workspace(const RecurrenceShape& shape) {
  return {.forward = ForwardScratch<T>(shape, Scratch()).bytes,
          .backward_input = BackwardScratch<T>(shape, Scratch()).bytes};
}

}  // namespace

Workspace cpu::recurrence_workspace(const RecurrenceShape& shape, DType dtype) {
  return dtype == DType::f64 ? workspace<double>(shape) : workspace<float>(shape);
}

template <>
void CpuBackend::compute(Stream& stream, const RecurrenceForward& op) {
  for_gates(op.shape.kind, op.p_FP.dtype,
            [&]<class T, template <class> class Gates>() { forward<T, Gates>(stream, op); });
}

template <>
void CpuBackend::compute(Stream& stream, const RecurrenceBackwardInput& op) {
  for_gates(op.shape.kind, op.dy_FH.dtype,
            [&]<class T, template <class> class Gates>() { backward<T, Gates>(stream, op); });
}

template <>
void CpuBackend::compute(Stream&, const RecurrenceBackwardWeight& op) {
  for_real(op.dp_FP.dtype, "recurrence", [&]<class T>(T) { backward_weight<T>(op); });
}

}  // namespace penstock::layers
