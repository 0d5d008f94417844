#include <vector>

#include "layers/cuda/block.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/launch.h"
#include "layers/cuda/numbers.h"
#include "layers/cuda/utterances.h"
#include "layers/ops/add_scaled.h"

namespace penstock::layers {
namespace cuda {
namespace {

/// `x` may be null, or y; `f` may be y.
template <class X, class T>
__global__ void add_scaled(const X* x, const T* f, T* y, std::int64_t count, float scale) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const float value = scale * to_float(f[i]);
  y[i] = from_float<T>(x == nullptr ? value : to_float(x[i]) + value);
}

/// Scales of the rows, by the utterance that they belong to.
struct RowScales {
  const float* of_utterance;
  const std::int32_t* utterance_of_row;
  int channels;
};

template <class X, class T>
__global__ void add_scaled_rows(const X* x, const T* f, T* y, std::int64_t count,
                                RowScales scales) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const float scale = scales.of_utterance[scales.utterance_of_row[i / scales.channels]];
  const float value = scale == 0 ? 0.0f : scale * to_float(f[i]);
  y[i] = from_float<T>(x == nullptr ? value : to_float(x[i]) + value);
}

RowScales upload_scales(CudaStream& stream, Scratch& scratch, const AddScaled& op) {
  std::vector<float> scales;
  for (const double factor : op.factors) scales.push_back(static_cast<float>(op.scale * factor));
  auto* const of_utterance = scratch.take<float>(static_cast<std::int64_t>(scales.size()));
  stream.copy_in(of_utterance, scales.data(), scales.size() * sizeof(float));
  const UtterancesRoom room(scratch, op.lengths);
  return {.of_utterance = of_utterance,
          .utterance_of_row = upload_utterances(stream, op.lengths, room).of_row,
          .channels = static_cast<int>(op.y.shape.at(1))};
}

template <class X, class T>
void add(CudaStream& stream, const X* x, const AddScaled& op) {
  const T* f = data_of<T>(op.f);
  T* y = data_of<T>(op.y);
  const std::int64_t count = op.y.size();
  if (op.factors.empty())
    return launch(stream.handle(), grid_over(count), add_scaled<X, T>, x, f, y, count,
                  static_cast<float>(op.scale));
  Scratch scratch = stream.scratch();
  launch(stream.handle(), grid_over(count), add_scaled_rows<X, T>, x, f, y, count,
         upload_scales(stream, scratch, op));
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const AddScaled& op) {
  auto& own = static_cast<CudaStream&>(stream);
  cuda::with_type_of(op.y, "AddScaled", [&]<class T>(T) {
    if (op.x.data == nullptr) return cuda::add<T, T>(own, nullptr, op);
    if (op.x.dtype == DType::f32) return cuda::add<float, T>(own, cuda::data_of<float>(op.x), op);
    cuda::add<T, T>(own, cuda::data_of<T>(op.x), op);
  });
}

}  // namespace penstock::layers
