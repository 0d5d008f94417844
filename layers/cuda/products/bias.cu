#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/elementwise/elementwise.h"
#include "layers/cuda/norms/column_sums.h"
#include "layers/cuda/products/product.h"
#include "layers/ops/linear.h"

// Most biases are added by cuBLASLt with the product. Kernels here add those of grouped 1-D
// convolutions. If cuBLASLt can't add a bias, it is written into d first, and the product is added
// to it. The gradient of a bias is a column sum in FP64, in a fixed order (column_sums.h). A row
// that holds several groups of channels counts as several rows.

namespace penstock::layers {
namespace cuda {
namespace {

/// Adds the bias of the column to x.
template <class T>
struct PlusBias {
  const T* bias_C;
  __device__ float operator()(const Cell& cell, float x) const {
    return x + to_float(bias_C[cell.column]);
  }
};

/// Gives the bias alone, to which a product is then added.
template <class T>
struct BiasOfColumn {
  const T* bias_C;
  __device__ float operator()(const Cell& cell) const { return to_float(bias_C[cell.column]); }
};

/// Sums dy of a column for the bias's gradient, as a term of column_sums.h.
template <class T>
struct OutputGradients {
  static constexpr int kSums = 1;
  const T* dy;
  __device__ void add(std::int64_t element, int, double* sums) const {
    sums[0] += static_cast<double>(to_float(dy[element]));
  }
};

}  // namespace

void spread_bias(CudaStream& stream, const Product& product) {
  const Matrix& d = product.d;
  with_type_of(*product.bias, "a bias", [&]<class T>(T) {
    map(stream.handle(), {d.rows, d.columns}, BiasOfColumn<T>{data_of<T>(*product.bias)},
        MatrixRows<T>{static_cast<T*>(d.data), d.lead});
  });
}

}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const AddBias& op) {
  cuda::with_type_of(op.x, "AddBias", [&]<class T>(T) {
    const std::int64_t channels = op.bias_C.size();
    if (channels == 0) return;
    cuda::map(static_cast<CudaStream&>(stream).handle(), {op.x.size() / channels, channels},
              cuda::PlusBias<T>{cuda::data_of<T>(op.bias_C)}, cuda::rows_to<T>(op.y, channels),
              cuda::rows_of<T>(op.x, channels));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const BiasBackwardWeight& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const int channels = static_cast<int>(op.d_bias_C.size());
  const std::int64_t rows = op.dy.size() / channels;
  cuda::with_type_of(op.dy, "BiasBackwardWeight", [&]<class T>(T) {
    using Term = cuda::OutputGradients<T>;
    Scratch scratch = own.scratch();
    auto* const sums = scratch.take<double>(channels);
    auto* const partial = scratch.take<double>(cuda::partial_count<Term>(rows, channels));
    cuda::sum_columns(own.handle(), Term{cuda::data_of<T>(op.dy)},
                      {.rows = rows, .columns = channels, .partial = partial, .sums = sums});
    cuda::add_to(own.handle(), sums, channels, cuda::data_of<float>(op.d_bias_C));
  });
}

}  // namespace penstock::layers
