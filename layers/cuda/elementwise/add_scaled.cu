#include <vector>

#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/utterances.h"
#include "layers/cuda/elementwise/elementwise.h"
#include "layers/ops/elementwise.h"

// y = x + scale · f has two kinds of scale, so that the common one reads no map from rows to
// utterances. Without utterances the matrices count as one long row.

namespace penstock::layers {
namespace cuda {
namespace {

/// One scale for all rows.
struct OneScale {
  float scale;
  __device__ float operator()(const Cell&, float f) const { return scale * f; }
};

/// Scales each row by the factor of its utterance. A factor of 0 gives 0, even if the row holds
/// infinities or NaN.
struct RowScales {
  const float* of_utterance;
  const std::int32_t* utterance_of_row;
  __device__ float operator()(const Cell& cell, float f) const {
    const float scale = of_utterance[utterance_of_row[cell.row]];
    return scale == 0 ? 0.0f : scale * f;
  }
};

template <class Scale>
struct PlusScaled {
  Scale scale;
  __device__ float operator()(const Cell& cell, float x, float f) const {
    return x + scale(cell, f);
  }
};

/// Copies the utterances' scales and the map from rows to utterances to the stream's workspace.
RowScales upload_scales(CudaStream& stream, Scratch& scratch, const AddScaled& op) {
  std::vector<float> scales;
  for (const double factor : op.factors) scales.push_back(static_cast<float>(op.scale * factor));
  auto* const of_utterance = scratch.take<float>(static_cast<std::int64_t>(scales.size()));
  stream.copy_in(of_utterance, scales.data(), scales.size() * sizeof(float));
  const UtterancesWorkspace room(scratch, op.lengths);
  return {.of_utterance = of_utterance,
          .utterance_of_row = upload_utterances(stream, op.lengths, room).of_row};
}

template <class X, class T, class Scale>
void add(CudaStream& stream, const MatrixSize& size, const Scale& scale, const AddScaled& op) {
  const std::int64_t pitch = size.columns;
  const MatrixRows<const T> f = rows_of<T>(op.f, pitch);
  const MatrixRows<T> y = rows_to<T>(op.y, pitch);
  if (op.x.data == nullptr) return map(stream.handle(), size, scale, y, f);
  map(stream.handle(), size, PlusScaled<Scale>{scale}, y, rows_of<X>(op.x, pitch), f);
}

template <class X, class T>
void add(CudaStream& stream, const AddScaled& op) {
  if (op.factors.empty())
    return add<X, T>(stream, flat(op.y.size()), OneScale{static_cast<float>(op.scale)}, op);
  Scratch scratch = stream.scratch();
  add<X, T>(stream, {op.y.shape.at(0), op.y.shape.at(1)}, upload_scales(stream, scratch, op), op);
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const AddScaled& op) {
  auto& own = static_cast<CudaStream&>(stream);
  cuda::with_type_of(op.y, "AddScaled", [&]<class T>(T) {
    if (op.x.dtype == DType::f32) return cuda::add<float, T>(own, op);
    cuda::add<T, T>(own, op);
  });
}

}  // namespace penstock::layers
