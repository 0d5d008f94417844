#include "layers/cuda/core/block.h"
#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/norms/column_sums.h"
#include "layers/ops/positions.h"

namespace penstock::layers {

namespace cuda {
namespace {

struct Positions {
  std::int64_t first, step;
  SinusoidOrder order;
};

/// Fills sinusoidal positions. Angles are FP64. One thread for each number.
template <class T>
__global__ void fill_sinusoids(T* table_XC, std::int64_t rows, int channels, Positions positions) {
  const std::int64_t i = grid_thread();
  if (i >= rows * channels) return;
  const int c = static_cast<int>(i % channels);
  const bool pairs = positions.order == SinusoidOrder::pairs;
  const int half = channels / 2, pair = pairs ? c / 2 : c % half;
  const bool halves = positions.order == SinusoidOrder::halves;
  const double exponent =
      halves ? -static_cast<double>(pair) / (half - 1) : -static_cast<double>(2 * pair) / channels;
  const bool sine = pairs ? c % 2 == 0 : c < half;
  const auto position = static_cast<double>(positions.first + i / channels * positions.step);
  const double angle = position * pow(10000.0, exponent);
  table_XC[i] = from_float<T>(static_cast<float>(sine ? sin(angle) : cos(angle)));
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const PositionTable& op) {
  cuda::with_type_of(op.table_XC, "PositionTable", [&]<class T>(T) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.table_XC.size()),
                 cuda::fill_sinusoids<T>, cuda::data_of<T>(op.table_XC), op.table_XC.shape.at(0),
                 static_cast<int>(op.table_XC.shape.at(1)),
                 cuda::Positions{op.first, op.step, op.order});
  });
}

namespace cuda {
namespace {

// Relative positions of Shaw et al. 2018, with distances clipped to the table. As heads are
// adjacent within a row of dr_XC, it is also a matrix of X · heads rows and D columns. In it, the
// gradient of a table entry is the sum of adjacent rows. Clipping gives thousands of rows to the
// first and the last distance, which column_sums.h adds; every other distance has the heads of one
// row.

struct ShawTable {
  std::int64_t before;  // rows of r before the one of distance -left
  int last, channels;   // K - 1 and D
};

/// Copies to every row of r, for each head, the table entry of its clipped distance. One thread for
/// each number.
template <class T>
__global__ void spread_distances(const T* weight_KD, ShawTable table, std::int64_t count,
                                 int columns, T* r_XC) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const std::int64_t distance = i / columns - table.before;
  const std::int64_t k = distance < 0 ? 0 : distance < table.last ? distance : table.last;
  r_XC[i] = weight_KD[k * table.channels + i % columns % table.channels];
}

/// Adds up the heads for the distances 1 ≤ k < K - 1 of which `dr_XC` has a row. One thread for
/// each number of the gradient.
__global__ void add_heads(const float* dr_XC, ShawTable table, std::int64_t rows, int columns,
                          float* d_weight_KD) {
  const std::int64_t i = grid_thread();
  if (i >= static_cast<std::int64_t>(table.last - 1) * table.channels) return;
  const std::int64_t row = table.before + 1 + i / table.channels;
  if (row < 0 || row >= rows) return;
  double sum = 0;
  for (std::int64_t c = i % table.channels; c < columns; c += table.channels)
    sum += static_cast<double>(dr_XC[row * columns + c]);
  d_weight_KD[table.channels + i] += static_cast<float>(sum);
}

struct GradientsOfHeads {
  static constexpr int kSums = 1;
  const float* dr;
  __device__ void add(std::int64_t element, int, double* sums) const {
    sums[0] += static_cast<double>(dr[element]);
  }
};

ShawTable shaw_table(const Tensor& table_KD, std::int64_t left, std::int64_t rows) {
  return {(rows - 1) / 2 - left, static_cast<int>(table_KD.shape[0] - 1),
          static_cast<int>(table_KD.shape[1])};
}

void add_rows(CudaStream& stream, const ShawPositionsBackwardWeight& op, std::int64_t k) {
  const std::int64_t K = op.d_weight_KD.shape[0], D = op.d_weight_KD.shape[1];
  const ShawRows found = shaw_rows(k, K, op.left, op.dr_XC.shape[0]);
  const std::int64_t rows = (found.end - found.begin) * (op.dr_XC.shape[1] / D);
  if (rows == 0) return;
  const int columns = static_cast<int>(D);
  Scratch scratch = stream.scratch();
  auto* const sums = scratch.take<double>(columns);
  auto* const partial = scratch.take<double>(partial_count<GradientsOfHeads>(rows, columns));
  sum_columns(stream.handle(),
              GradientsOfHeads{data_of<float>(op.dr_XC) + found.begin * op.dr_XC.shape[1]},
              {.rows = rows, .columns = columns, .partial = partial, .sums = sums});
  add_to(stream.handle(), sums, columns, data_of<float>(op.d_weight_KD) + k * D);
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const ShawPositionsForward& op) {
  cuda::with_type_of(op.r_XC, "ShawPositionsForward", [&]<class T>(T) {
    const std::int64_t X = op.r_XC.shape[0];
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.r_XC.size()),
                 cuda::spread_distances<T>, cuda::data_of<T>(op.weight_KD),
                 cuda::shaw_table(op.weight_KD, op.left, X), op.r_XC.size(),
                 static_cast<int>(op.r_XC.shape[1]), cuda::data_of<T>(op.r_XC));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const ShawPositionsBackwardWeight& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const std::int64_t K = op.d_weight_KD.shape[0], D = op.d_weight_KD.shape[1];
  const std::int64_t X = op.dr_XC.shape[0];
  if (X == 0) return;
  cuda::add_rows(own, op, 0);
  if (K > 1) cuda::add_rows(own, op, K - 1);
  cuda::launch(own.handle(), cuda::grid_over(K > 2 ? (K - 2) * D : 0), cuda::add_heads,
               cuda::data_of<float>(op.dr_XC), cuda::shaw_table(op.d_weight_KD, op.left, X), X,
               static_cast<int>(op.dr_XC.shape[1]), cuda::data_of<float>(op.d_weight_KD));
}

}  // namespace penstock::layers
