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
template <class T>
__global__ void add_scaled(const T* x, const T* f, T* y, std::int64_t count, float scale) {
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

template <class T>
__global__ void add_scaled_rows(const T* x, const T* f, T* y, std::int64_t count,
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

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const AddScaled& op) {
  auto& own = static_cast<CudaStream&>(stream);
  cuda::with_type_of(op.y, "AddScaled", [&]<class T>(T) {
    const T* x = op.x.data == nullptr ? nullptr : cuda::data_of<T>(op.x);
    const T* f = cuda::data_of<T>(op.f);
    T* y = cuda::data_of<T>(op.y);
    const std::int64_t count = op.y.size();
    if (op.factors.empty())
      return cuda::launch(own.handle(), cuda::grid_over(count), cuda::add_scaled<T>, x, f, y, count,
                          static_cast<float>(op.scale));
    Scratch scratch = own.scratch();
    cuda::launch(own.handle(), cuda::grid_over(count), cuda::add_scaled_rows<T>, x, f, y, count,
                 cuda::upload_scales(own, scratch, op));
  });
}

}  // namespace penstock::layers
