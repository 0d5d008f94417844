#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/reduce.h"
#include "layers/cuda/elementwise/elementwise.h"
#include "layers/ops/embedding.h"

namespace penstock::layers {
namespace cuda {
namespace {

constexpr int kThreads = 256;

/// Copies a row of the table to each position, or zeros for an id of -1.
template <class T>
__global__ void gather_rows(MatrixSize size, bool aligned, const std::int32_t* ids,
                            MatrixRows<const T> table, MatrixRows<T> y) {
  for_each_eight(size, aligned, [&](const EightCells& cells) {
    const std::int32_t id = ids[cells.first.row];
    const EightCells from{{id, cells.first.column}, cells.count, cells.aligned};
    cells.store(id < 0 ? EightFloats{} : from.load(table), y);
  });
}

/// Adds the rows of one id to the table's gradient, in the order of their positions. A block whose
/// position is the first of its id adds all of them, and the others leave. So no row is written by
/// two blocks.
template <class T>
__global__ void __launch_bounds__(kThreads)
    add_rows(const std::int32_t* ids, std::int64_t positions, const T* dy, std::int64_t channels,
             float* dtable) {
  BLOCK_SHARED(int, of_warp, [kThreads / kWarp]);
  const std::int64_t first = block_x();
  const std::int32_t id = ids[first];
  if (id < 0) return;
  int earlier = 0;
  for (std::int64_t p = thread_x(); p < first; p += kThreads) earlier |= ids[p] == id ? 1 : 0;
  if (combine_block(earlier, of_warp, Largest{}) != 0) return;
  float* const row = dtable + id * channels;
  for (std::int64_t c = thread_x(); c < channels; c += kThreads) {
    float sum = row[c];
    for (std::int64_t p = first; p < positions; ++p)
      if (ids[p] == id) sum += to_float(dy[p * channels + c]);
    row[c] = sum;
  }
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const EmbeddingForward& op) {
  const cuda::MatrixSize size{op.y_PE.shape.at(0), op.y_PE.shape.at(1)};
  if (op.y_PE.size() == 0) return;
  cuda::with_type_of(op.table_VE, "EmbeddingForward", [&]<class T>(T) {
    const auto table = cuda::rows_of<T>(op.table_VE, size.columns);
    const auto y = cuda::rows_to<T>(op.y_PE, size.columns);
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_of_eights(size),
                 cuda::gather_rows<T>, size, cuda::is_aligned(table) && cuda::is_aligned(y),
                 op.ids_P.as<std::int32_t>(), table, y);
  });
}

template <>
void CudaBackend::compute(Stream& stream, const EmbeddingBackwardWeight& op) {
  const std::int64_t positions = op.dy_PE.shape.at(0), channels = op.dy_PE.shape.at(1);
  cuda::with_type_of(op.dy_PE, "EmbeddingBackwardWeight", [&]<class T>(T) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(),
                 {dim3(static_cast<unsigned>(positions)), dim3(cuda::kThreads)}, cuda::add_rows<T>,
                 op.ids_P.as<std::int32_t>(), positions, cuda::data_of<T>(op.dy_PE), channels,
                 cuda::data_of<float>(op.dtable_VE));
  });
}

}  // namespace penstock::layers
