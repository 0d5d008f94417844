#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/core/reduce.h"
#include "layers/cuda/norms/warp_rows.h"
#include "layers/ops/softmax.h"

// A warp takes a row, so its sums are combined by shuffles, in a fixed order. Rows are read again
// from cache for each pass.

namespace penstock::layers {
namespace cuda {
namespace {

template <class T>
__global__ void softmax_rows(const T* x, T* y, WarpRows size) {
  const std::int64_t row = WarpRows::row();
  if (row >= size.rows) return;  // whole warps
  const int channels = size.channels, lane = thread_x() % kWarp;
  x += row * channels;
  y += row * channels;
  float top = to_float(x[0]);
  for (int c = lane; c < channels; c += kWarp) top = Largest()(top, to_float(x[c]));
  top = combine_warp(top, Largest());
  double sum = 0;
  for (int c = lane; c < channels; c += kWarp) sum += expf(to_float(x[c]) - top);
  const auto all = static_cast<float>(combine_warp(sum, Sum()));
  for (int c = lane; c < channels; c += kWarp)
    y[c] = from_float<T>(expf(to_float(x[c]) - top) / all);
}

template <class T>
__global__ void softmax_rows_backward(const T* y, const T* dy, T* dx, WarpRows size) {
  const std::int64_t row = WarpRows::row();
  if (row >= size.rows) return;
  const int channels = size.channels, lane = thread_x() % kWarp;
  y += row * channels;
  dy += row * channels;
  dx += row * channels;
  double sum = 0;
  for (int c = lane; c < channels; c += kWarp) sum += to_float(y[c]) * to_float(dy[c]);
  const auto mean = static_cast<float>(combine_warp(sum, Sum()));
  for (int c = lane; c < channels; c += kWarp)
    dx[c] = from_float<T>(to_float(y[c]) * (to_float(dy[c]) - mean));
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const SoftmaxForward& op) {
  const cuda::WarpRows size(op.x_FC);
  cuda::with_type_of(op.x_FC, "SoftmaxForward", [&]<class T>(T) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), size.grid(), cuda::softmax_rows<T>,
                 cuda::data_of<T>(op.x_FC), cuda::data_of<T>(op.y_FC), size);
  });
}

template <>
void CudaBackend::compute(Stream& stream, const SoftmaxBackward& op) {
  const cuda::WarpRows size(op.y_FC);
  cuda::with_type_of(op.y_FC, "SoftmaxBackward", [&]<class T>(T) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), size.grid(),
                 cuda::softmax_rows_backward<T>, cuda::data_of<T>(op.y_FC),
                 cuda::data_of<T>(op.dy_FC), cuda::data_of<T>(op.dx_FC), size);
  });
}

}  // namespace penstock::layers
