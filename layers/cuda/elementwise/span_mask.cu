#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/elementwise/elementwise.h"
#include "layers/ops/span_mask.h"

namespace penstock::layers {
namespace cuda {
namespace {

constexpr int kThreads = 128;

/// The masks of a micro-batch, in device memory.
struct DeviceSpanMask {
  const std::int32_t* utterances;  // of each row; negative if the row is masked
  const std::int32_t* channels;    // 1 for masked ones of each utterance; null if there are none
  std::int64_t columns;

  __device__ bool masks_row(std::int64_t row) const { return utterances[row] < 0; }
  __device__ bool masks_channel(std::int64_t row, std::int64_t channel) const {
    if (channels == nullptr) return false;
    const std::int32_t code = utterances[row];
    return channels[(code < 0 ? -1 - code : code) * columns + channel] != 0;
  }
};

DeviceSpanMask on_device(const SpanMask& mask, std::int64_t columns) {
  const bool some = mask.channels_UC.data != nullptr;
  return {mask.utterances_F.as<std::int32_t>(),
          some ? mask.channels_UC.as<std::int32_t>() : nullptr, columns};
}

template <class T>
struct Masked {
  DeviceSpanMask mask;
  const T* embedding;

  __device__ float operator()(const Cell& cell, float x) const {
    if (mask.masks_channel(cell.row, cell.column)) return 0;
    return mask.masks_row(cell.row) ? to_float(embedding[cell.column]) : x;
  }
};

struct Unmasked {
  DeviceSpanMask mask;

  __device__ float operator()(const Cell& cell, float dy) const {
    return mask.masks_row(cell.row) || mask.masks_channel(cell.row, cell.column) ? 0.0f : dy;
  }
};

/// Adds masked rows, each thread one column. Sums are in the order of rows, so they depend neither
/// on the grid nor on the device.
template <class T>
__global__ void __launch_bounds__(kThreads)
    add_masked_rows(DeviceSpanMask mask, std::int64_t rows, const T* dy, float* dembedding) {
  const std::int64_t column = block_x() * kThreads + thread_x();
  if (column >= mask.columns) return;
  float sum = dembedding[column];
  for (std::int64_t row = 0; row < rows; ++row)
    if (mask.masks_row(row) && !mask.masks_channel(row, column))
      sum += to_float(dy[row * mask.columns + column]);
  dembedding[column] = sum;
}

MatrixSize size_of_matrix(const Tensor& x_FC) { return {x_FC.shape.at(0), x_FC.shape.at(1)}; }

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const SpanMaskForward& op) {
  const cuda::MatrixSize size = cuda::size_of_matrix(op.x_FC);
  cuda::with_type_of(op.x_FC, "SpanMaskForward", [&]<class T>(T) {
    const cuda::Masked<T> masked{cuda::on_device(op.mask, size.columns),
                                 cuda::data_of<T>(op.embedding_C)};
    cuda::map(static_cast<CudaStream&>(stream).handle(), size, masked,
              cuda::rows_to<T>(op.y_FC, size.columns), cuda::rows_of<T>(op.x_FC, size.columns));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const SpanMaskBackwardInput& op) {
  const cuda::MatrixSize size = cuda::size_of_matrix(op.dy_FC);
  cuda::with_type_of(op.dy_FC, "SpanMaskBackwardInput", [&]<class T>(T) {
    cuda::map(static_cast<CudaStream&>(stream).handle(), size,
              cuda::Unmasked{cuda::on_device(op.mask, size.columns)},
              cuda::rows_to<T>(op.dx_FC, size.columns), cuda::rows_of<T>(op.dy_FC, size.columns));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const SpanMaskBackwardWeight& op) {
  const cuda::MatrixSize size = cuda::size_of_matrix(op.dy_FC);
  const auto blocks = static_cast<unsigned>((size.columns + cuda::kThreads - 1) / cuda::kThreads);
  cuda::with_type_of(op.dy_FC, "SpanMaskBackwardWeight", [&]<class T>(T) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), {dim3(blocks), dim3(cuda::kThreads)},
                 cuda::add_masked_rows<T>, cuda::on_device(op.mask, size.columns), size.rows,
                 cuda::data_of<T>(op.dy_FC), cuda::data_of<float>(op.dembedding_C));
  });
}

}  // namespace penstock::layers
