#include "layers/ops/softmax.h"

#include <algorithm>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/softmax_row.h"

namespace penstock::layers {
namespace {

/// Returns Σ a · b over a row, lane by lane from its start.
template <class T>
T dot(const T* a, const T* b, std::int64_t channels) {
  Vector<T> sums = {};
  for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
    sums += load(a + c, lanes) * load(b + c, lanes);
  });
  T sum = 0;
  for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) sum += sums[lane];
  return sum;
}

}  // namespace

template <>
void CpuBackend::compute(Stream& stream, const SoftmaxForward& op) {
  const std::int64_t rows = op.x_FC.shape.at(0), channels = op.x_FC.shape.at(1);
  for_real(op.x_FC.dtype, "SoftmaxForward", [&]<class T>(T) {
    T* const y = op.y_FC.as<T>();
    std::copy_n(op.x_FC.as<T>(), rows * channels, y);
    for (std::int64_t first = 0; first < rows * channels; first += channels)
      (void)softmax_row(y + first, channels);
  });
  stream.progress();
}

template <>
void CpuBackend::compute(Stream& stream, const SoftmaxBackward& op) {
  const std::int64_t rows = op.y_FC.shape.at(0), channels = op.y_FC.shape.at(1);
  for_real(op.y_FC.dtype, "SoftmaxBackward", [&]<class T>(T) {
    for (std::int64_t first = 0; first < rows * channels; first += channels) {
      const T *y = op.y_FC.as<T>() + first, *dy = op.dy_FC.as<T>() + first;
      T* const dx = op.dx_FC.as<T>() + first;
      const T mean = dot(y, dy, channels);
      for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
        store(dx + c, load(y + c, lanes) * (load(dy + c, lanes) - mean), lanes);
      });
    }
  });
  stream.progress();
}

}  // namespace penstock::layers
