#include <algorithm>

#include "layers/cuda/column_sums.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/numbers.h"
#include "layers/cuda/utterances.h"
#include "layers/ops/lookahead.h"

namespace penstock::layers {
namespace cuda {
namespace {

struct LookaheadSize {
  explicit LookaheadSize(const Tensor& frames_FC, const Tensor& weight_CK)
      : rows(frames_FC.shape.at(0)),
        channels(static_cast<int>(weight_CK.shape.at(0))),
        context(static_cast<int>(weight_CK.shape.at(1))) {}
  std::int64_t rows;
  int channels, context;
};

template <class T>
__global__ void look_ahead(const T* x, T* y, const T* weight_CK, LookaheadSize size,
                           Utterances utterances) {
  const std::int64_t i = grid_thread();
  if (i >= size.rows * size.channels) return;
  const std::int64_t row = i / size.channels, left = utterances.end(row) - row;
  const T* const weight = weight_CK + (i % size.channels) * size.context;
  float sum = 0;
  for (std::int64_t k = 0; k < size.context && k < left; ++k)
    sum += to_float(weight[k]) * to_float(x[i + k * size.channels]);
  y[i] = from_float<T>(sum);
}

template <class T>
__global__ void look_back(const T* dy, T* dx, const T* weight_CK, LookaheadSize size,
                          Utterances utterances) {
  const std::int64_t i = grid_thread();
  if (i >= size.rows * size.channels) return;
  const std::int64_t row = i / size.channels, behind = row - utterances.begin(row);
  const T* const weight = weight_CK + (i % size.channels) * size.context;
  float sum = 0;
  for (std::int64_t k = 0; k < size.context && k <= behind; ++k)
    sum += to_float(weight[k]) * to_float(dy[i - k * size.channels]);
  dx[i] = from_float<T>(sum);
}

/// Columns are [k][channel], so that neighbouring threads read neighbouring channels.
template <class T>
struct WeightGradient {
  static constexpr int kSums = 1;
  const T* x;
  const T* dy;
  Utterances utterances;
  int channels, context;
  __device__ void add(std::int64_t element, int column, double* sums) const {
    const std::int64_t row = element / (channels * context);
    const int k = column / channels, channel = column % channels;
    if (row + k >= utterances.end(row)) return;
    sums[0] += static_cast<double>(to_float(dy[row * channels + channel])) *
               static_cast<double>(to_float(x[(row + k) * channels + channel]));
  }
};

__global__ void add_transposed(const double* sums_KC, int channels, int context, float* d_weight) {
  const std::int64_t i = grid_thread();
  if (i >= channels * context) return;
  const std::int64_t channel = i / context, k = i % context;
  d_weight[i] += static_cast<float>(sums_KC[k * channels + channel]);
}

struct Operands {
  const Tensor& from;
  const Tensor& to;
  const Tensor& weight_CK;
  std::span<const std::int64_t> lengths;
};

/// Forward or its mirror image.
template <class Kernel>
void convolve(CudaStream& stream, const char* operation, const Operands& operands, Kernel kernel) {
  const LookaheadSize size(operands.from, operands.weight_CK);
  Scratch scratch = stream.scratch();
  const Utterances utterances =
      upload_utterances(stream, operands.lengths, UtterancesRoom(scratch, operands.lengths));
  with_type_of(operands.from, operation, [&]<class T>(T type) {
    launch(stream.handle(), grid_over(size.rows * size.channels), kernel(type),
           data_of<T>(operands.from), data_of<T>(operands.to), data_of<T>(operands.weight_CK), size,
           utterances);
  });
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const LookaheadForward& op) {
  cuda::convolve(static_cast<CudaStream&>(stream), "LookaheadForward",
                 {op.x_FC, op.y_FC, op.weight_CK, op.lengths},
                 []<class T>(T) { return cuda::look_ahead<T>; });
}

template <>
void CudaBackend::compute(Stream& stream, const LookaheadBackwardInput& op) {
  cuda::convolve(static_cast<CudaStream&>(stream), "LookaheadBackwardInput",
                 {op.dy_FC, op.dx_FC, op.weight_CK, op.lengths},
                 []<class T>(T) { return cuda::look_back<T>; });
}

template <>
void CudaBackend::compute(Stream& stream, const LookaheadBackwardWeight& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const cuda::LookaheadSize size(op.x_FC, op.d_weight_CK);
  const int columns = size.channels * size.context;
  cuda::with_type_of(op.x_FC, "LookaheadBackwardWeight", [&]<class T>(T) {
    using Term = cuda::WeightGradient<T>;
    Scratch scratch = own.scratch();
    const cuda::UtterancesRoom room(scratch, op.lengths);
    auto* const sums = scratch.take<double>(columns);
    auto* const partial = scratch.take<double>(cuda::partial_count<Term>(size.rows, columns));
    const Term term{cuda::data_of<T>(op.x_FC), cuda::data_of<T>(op.dy_FC),
                    cuda::upload_utterances(own, op.lengths, room), size.channels, size.context};
    cuda::sum_columns(own.handle(), term,
                      {.rows = size.rows, .columns = columns, .partial = partial, .sums = sums});
    cuda::launch(own.handle(), cuda::grid_over(columns), cuda::add_transposed, sums, size.channels,
                 size.context, cuda::data_of<float>(op.d_weight_CK));
  });
}

}  // namespace penstock::layers
