#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/elementwise/elementwise.h"
#include "layers/ops/transducer.h"

// The joint network's hidden layer over a tile of cells (t, u), and its gradients.
//
// Backward runs two kernels over the gradient of the hidden layer. Sums over the labels of a frame
// start anew in each tile, so eight threads share one, and their sums are added in order. Sums over
// frames continue those of the tile before, one thread each, so that tiles of any size add the same
// numbers in the same order.

namespace penstock::layers {
namespace cuda {
namespace {

struct Relu {
  static __device__ float value(float x) { return x < 0 ? 0 : x; }  // NaN stays NaN
  static __device__ float gradient(float y, float dy) { return y > 0 ? dy : 0; }
};

struct Tanh {
  static __device__ float value(float x) { return tanhf(x); }
  static __device__ float gradient(float y, float dy) { return dy * (1 - y * y); }
};

/// Calls work(T{}, F{}) with the number type of `tensor` and the functions that `kind` names.
template <class Work>
void with_joint(JointNonlinearity kind, const Tensor& tensor, const char* operation, Work work) {
  with_type_of(tensor, operation, [&]<class T>(T type) {
    switch (kind) {
      case JointNonlinearity::relu:
        return work(type, Relu{});
      case JointNonlinearity::tanh:
        return work(type, Tanh{});
    }
  });
}

template <class F, class T>
__global__ void join_cells(MatrixSize size, bool aligned, std::int64_t labels,
                           MatrixRows<const T> encoded, MatrixRows<const T> predicted,
                           MatrixRows<T> hidden) {
  for_each_eight(size, aligned, [&](const EightCells& cells) {
    const auto load = [&](std::int64_t row, const MatrixRows<const T>& from) {
      return EightCells{{row, cells.first.column}, cells.count, cells.aligned}.load(from);
    };
    const std::int64_t t = cells.first.row / labels;
    EightFloats sum = load(t, encoded);
    const EightFloats other = load(cells.first.row - t * labels, predicted);
    UNROLLED for (int k = 0; k < kEight; ++k) sum.values[k] =
        F::value(sum.values[k] + other.values[k]);
    cells.store(sum, hidden);
  });
}

/// A tile's hidden layer and its gradient: frames × labels × channels.
template <class T>
struct JointTile {
  const T *hidden, *dhidden;
  std::int64_t frames, labels, channels;

  template <class F>
  __device__ float gradient(std::int64_t t, std::int64_t u, std::int64_t c) const {
    const std::int64_t at = (t * labels + u) * channels + c;
    return F::gradient(to_float(hidden[at]), to_float(dhidden[at]));
  }
};

constexpr int kAcross = 32, kDown = 8;

/// Sums over the labels of a frame. Block (tile of channels, frame) has 8 × 32 threads.
template <class F, class T>
__global__ void __launch_bounds__(kAcross* kDown) sum_over_labels(JointTile<T> tile, T* dencoded) {
  BLOCK_SHARED(float, sums, [kDown][kAcross]);
  const std::int64_t c = block_x() * kAcross + thread_x(), t = block_y();
  float sum = 0;
  if (c < tile.channels)
    for (std::int64_t u = thread_y(); u < tile.labels; u += kDown)
      sum += tile.template gradient<F>(t, u, c);
  sums[thread_y()][thread_x()] = sum;
  __syncthreads();
  if (thread_y() != 0 || c >= tile.channels) return;
  for (int part = 1; part < kDown; ++part) sum += sums[part][thread_x()];
  dencoded[t * tile.channels + c] = from_float<T>(sum);
}

/// Adds over the frames. Block (tile of channels, eight labels) has 8 × 32 threads.
template <class F, class T>
__global__ void __launch_bounds__(kAcross* kDown)
    add_over_frames(JointTile<T> tile, float* dpredicted) {
  const std::int64_t c = block_x() * kAcross + thread_x(), u = block_y() * kDown + thread_y();
  if (c >= tile.channels || u >= tile.labels) return;
  float sum = dpredicted[u * tile.channels + c];
  for (std::int64_t t = 0; t < tile.frames; ++t) sum += tile.template gradient<F>(t, u, c);
  dpredicted[u * tile.channels + c] = sum;
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const JointCells& op) {
  const cuda::MatrixSize size{op.hidden_CJ.shape.at(0), op.hidden_CJ.shape.at(1)};
  if (op.hidden_CJ.size() == 0) return;
  cuda::with_joint(op.kind, op.hidden_CJ, "JointCells", [&]<class T, class F>(T, F) {
    const auto encoded = cuda::rows_of<T>(op.encoded_TJ, size.columns);
    const auto predicted = cuda::rows_of<T>(op.predicted_UJ, size.columns);
    const auto hidden = cuda::rows_to<T>(op.hidden_CJ, size.columns);
    const bool aligned =
        cuda::is_aligned(encoded) && cuda::is_aligned(predicted) && cuda::is_aligned(hidden);
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_of_eights(size),
                 cuda::join_cells<F, T>, size, aligned, op.predicted_UJ.shape.at(0), encoded,
                 predicted, hidden);
  });
}

template <>
void CudaBackend::compute(Stream& stream, const JointCellsBackward& op) {
  const auto handle = static_cast<CudaStream&>(stream).handle();
  const std::int64_t frames = op.dencoded_TJ.shape.at(0), labels = op.dpredicted_UJ.shape.at(0);
  const std::int64_t channels = op.hidden_CJ.shape.at(1);
  cuda::with_joint(op.kind, op.hidden_CJ, "JointCellsBackward", [&]<class T, class F>(T, F) {
    const cuda::JointTile<T> tile{cuda::data_of<T>(op.hidden_CJ), cuda::data_of<T>(op.dhidden_CJ),
                                  frames, labels, channels};
    const auto across = static_cast<unsigned>((channels + cuda::kAcross - 1) / cuda::kAcross);
    const auto down = static_cast<unsigned>((labels + cuda::kDown - 1) / cuda::kDown);
    const dim3 threads(cuda::kAcross, cuda::kDown);
    cuda::launch(handle, {dim3(across, static_cast<unsigned>(frames)), threads},
                 cuda::sum_over_labels<F, T>, tile, cuda::data_of<T>(op.dencoded_TJ));
    cuda::launch(handle, {dim3(across, down), threads}, cuda::add_over_frames<F, T>, tile,
                 cuda::data_of<float>(op.dpredicted_UJ));
  });
}

}  // namespace penstock::layers
