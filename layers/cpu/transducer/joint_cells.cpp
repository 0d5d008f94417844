#include <algorithm>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/vector_math.h"
#include "layers/ops/transducer.h"

// The joint network's hidden layer over a tile of cells (t, u): a nonlinearity of the sum of a row
// for each frame and a row for each number of labels. Backward walks over the cells in their order
// and adds each gradient to both sums, so the order does not depend on the tiles.

namespace penstock::layers {
namespace {

template <class T>
struct Relu {
  using V = Vector<T>;
  static V value(V x) { return x < T(0) ? V{} : x; }  // NaN stays NaN
  static V gradient(V y, V dy) { return y > T(0) ? dy : V{}; }
};

template <class T>
struct Tanh {
  using V = Vector<T>;
  static V value(V x) { return tanh(x); }
  static V gradient(V y, V dy) { return dy * (T(1) - y * y); }
};

/// Calls work(T{}, F{}) with the functions that `kind` and `dtype` name.
template <class Work>
void with_joint(JointNonlinearity kind, DType dtype, const char* operation, Work work) {
  for_real(dtype, operation, [&]<class T>(T) {
    switch (kind) {
      case JointNonlinearity::relu:
        return work(T{}, Relu<T>{});
      case JointNonlinearity::tanh:
        return work(T{}, Tanh<T>{});
    }
  });
}

}  // namespace

template <>
void CpuBackend::compute(Stream& stream, const JointCells& op) {
  const std::int64_t frames = op.encoded_TJ.shape.at(0), row = op.predicted_UJ.shape.at(0);
  const std::int64_t channels = op.hidden_CJ.shape.at(1);
  with_joint(op.kind, op.hidden_CJ.dtype, "JointCells", [&]<class T, class F>(T, F) {
    const T *encoded = op.encoded_TJ.as<T>(), *predicted = op.predicted_UJ.as<T>();
    T* hidden = op.hidden_CJ.as<T>();
    for (std::int64_t t = 0; t < frames; ++t, encoded += channels)
      for (std::int64_t u = 0; u < row; ++u, hidden += channels)
        for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
          const Vector<T> sum =
              load(encoded + c, lanes) + load(predicted + u * channels + c, lanes);
          store(hidden + c, F::value(sum), lanes);
        });
  });
  stream.progress();
}

template <>
void CpuBackend::compute(Stream& stream, const JointCellsBackward& op) {
  const std::int64_t frames = op.dencoded_TJ.shape.at(0), row = op.dpredicted_UJ.shape.at(0);
  const std::int64_t channels = op.hidden_CJ.shape.at(1);
  with_joint(op.kind, op.hidden_CJ.dtype, "JointCellsBackward", [&]<class T, class F>(T, F) {
    const T *hidden = op.hidden_CJ.as<T>(), *dhidden = op.dhidden_CJ.as<T>();
    T *dencoded = op.dencoded_TJ.as<T>(), *dpredicted = op.dpredicted_UJ.as<T>();
    for (std::int64_t t = 0; t < frames; ++t, dencoded += channels) {
      std::fill_n(dencoded, channels, T{0});
      for (std::int64_t u = 0; u < row; ++u, hidden += channels, dhidden += channels) {
        T* const sum = dpredicted + u * channels;
        for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
          const Vector<T> g = F::gradient(load(hidden + c, lanes), load(dhidden + c, lanes));
          store(dencoded + c, load(dencoded + c, lanes) + g, lanes);
          store(sum + c, load(sum + c, lanes) + g, lanes);
        });
      }
    }
  });
  stream.progress();
}

}  // namespace penstock::layers
