#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/norms/column_sums.h"
#include "layers/ops/recurrence.h"

namespace penstock::layers {
namespace cuda {
namespace {

/// The term of the bias gradient for column_sums.h: gradients of U h + c by the columns of dp. The
/// gradients of a GRU's third gate are in dn instead.
template <class T>
struct RecurrenceBiasGradient {
  static constexpr int kSums = 1;
  const T *dp_FP, *dn_DFH;
  std::int64_t frames;
  int hidden, columns;
  __device__ void add(std::int64_t element, int column, double* sums) const {
    if (dn_DFH != nullptr && column / hidden % 3 == 2) {
      const std::int64_t direction = column / (3 * hidden), row = element / columns;
      sums[0] += to_float(dn_DFH[(direction * frames + row) * hidden + column % hidden]);
    } else {
      sums[0] += to_float(dp_FP[element]);
    }
  }
};

}  // namespace
}  // namespace cuda

// Adds the gradients of U, as products over all frames, and of c, as column sums. A GRU takes two
// products, because the gradients of its third gate's U h + c are in dn.
template <>
void CudaBackend::compute(Stream& stream, const RecurrenceBackwardWeight& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const std::int64_t frames = op.dp_FP.shape.at(0), hidden = op.shape.hidden,
                     gated = op.shape.gates() * hidden;
  if (frames == 0) return;
  const bool is_gru = op.shape.kind == RecurrenceKind::gru;
  const std::int64_t rows =
      is_gru ? 2 * hidden : gated;  // rows of U whose products have the gradient dp
  const int directions = static_cast<int>(op.shape.directions),
            columns = static_cast<int>(op.shape.directions * gated);
  const cuda::Matrix previous =
      cuda::Matrix(op.previous_DFH, 0, frames, hidden, hidden).each(frames * hidden);
  const auto gradient_of = [&](std::int64_t first, std::int64_t count) {
    return cuda::Matrix(op.dw_DGH, first * hidden, count, hidden, hidden).each(gated * hidden);
  };
  products_.run(own, {.a = cuda::Matrix(op.dp_FP, 0, frames, rows, columns).each(gated),
                      .b = previous,
                      .d = gradient_of(0, rows),
                      .transpose_a = true,
                      .accumulate = true,
                      .batch = directions});
  if (is_gru)
    products_.run(own,
                  {.a = cuda::Matrix(op.dn_DFH, 0, frames, hidden, hidden).each(frames * hidden),
                   .b = previous,
                   .d = gradient_of(rows, hidden),
                   .transpose_a = true,
                   .accumulate = true,
                   .batch = directions});
  cuda::with_type_of(op.dp_FP, "RecurrenceBackwardWeight", [&]<class T>(T) {
    using Term = cuda::RecurrenceBiasGradient<T>;
    Scratch scratch = own.scratch();
    auto* const sums = scratch.take<double>(columns);
    auto* const partial = scratch.take<double>(cuda::partial_count<Term>(frames, columns));
    const Term term{cuda::data_of<T>(op.dp_FP), is_gru ? cuda::data_of<T>(op.dn_DFH) : nullptr,
                    frames, static_cast<int>(hidden), columns};
    cuda::sum_columns(own.handle(), term,
                      {.rows = frames, .columns = columns, .partial = partial, .sums = sums});
    cuda::add_to(own.handle(), sums, columns, cuda::data_of<float>(op.db_DG));
  });
}

}  // namespace penstock::layers
