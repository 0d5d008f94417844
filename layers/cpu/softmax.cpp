#include "layers/ops/softmax.h"

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/logits.h"
#include "layers/cpu/vector_math.h"

// Sums over a row go lane by lane in FP64, so their order follows from the number of channels
// alone: a row's numbers depend on neither its neighbours nor its address.

namespace penstock::layers {
namespace {

/// Returns Σ of the lanes of term(c, lanes) over a row, where lanes beyond its end are 0.
template <class T, class Term>
T sum_of_lanes(std::int64_t channels, const Term& term) {
  double sums[kLanes<T>] = {};
  for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
    const Vector<T> terms = term(c, lanes);
    for (std::int64_t lane = 0; lane < kLanes<T>; ++lane)
      sums[lane] += static_cast<double>(terms[lane]);
  });
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return static_cast<T>(sum);
}

}  // namespace

template <>
void CpuBackend::compute(Stream& stream, const SoftmaxForward& op) {
  const std::int64_t rows = op.x_FC.shape.at(0), channels = op.x_FC.shape.at(1);
  for_real(op.x_FC.dtype, "SoftmaxForward", [&]<class T>(T) {
    const T* x = op.x_FC.as<T>();
    T* y = op.y_FC.as<T>();
    for (std::int64_t row = 0; row < rows; ++row, x += channels, y += channels) {
      const T top = largest_logit(x, channels);
      const T sum = sum_of_lanes<T>(channels, [&](std::int64_t c, auto lanes) {
        return exp(load_logits(x + c, lanes) - top);
      });
      for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
        store(y + c, exp(load_logits(x + c, lanes) - top) / sum, lanes);
      });
    }
  });
  stream.progress();
}

template <>
void CpuBackend::compute(Stream& stream, const SoftmaxBackward& op) {
  const std::int64_t rows = op.y_FC.shape.at(0), channels = op.y_FC.shape.at(1);
  for_real(op.y_FC.dtype, "SoftmaxBackward", [&]<class T>(T) {
    const T *y = op.y_FC.as<T>(), *dy = op.dy_FC.as<T>();
    T* dx = op.dx_FC.as<T>();
    for (std::int64_t row = 0; row < rows; ++row, y += channels, dy += channels, dx += channels) {
      const T mean = sum_of_lanes<T>(channels, [&](std::int64_t c, auto lanes) {
        return load(y + c, lanes) * load(dy + c, lanes);
      });
      for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
        store(dx + c, load(y + c, lanes) * (load(dy + c, lanes) - mean), lanes);
      });
    }
  });
  stream.progress();
}

}  // namespace penstock::layers
