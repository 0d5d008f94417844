#include "layers/cuda/core/block.h"
#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/ops/position_table.h"

namespace penstock::layers {
namespace cuda {
namespace {

struct Positions {
  std::int64_t first, step;
};

/// Fills sinusoidal positions (Vaswani et al. 2017): sines in even channels, cosines in odd ones.
/// Angles are FP64. One thread for each number.
template <class T>
__global__ void fill_sinusoids(T* table_XC, std::int64_t rows, int channels, Positions positions) {
  const std::int64_t i = grid_thread();
  if (i >= rows * channels) return;
  const int c = static_cast<int>(i % channels), pair = c / 2 * 2;
  const auto position = static_cast<double>(positions.first + i / channels * positions.step);
  const double angle = position * pow(10000.0, -static_cast<double>(pair) / channels);
  table_XC[i] = from_float<T>(static_cast<float>(c == pair ? sin(angle) : cos(angle)));
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const PositionTable& op) {
  cuda::with_type_of(op.table_XC, "PositionTable", [&]<class T>(T) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.table_XC.size()),
                 cuda::fill_sinusoids<T>, cuda::data_of<T>(op.table_XC), op.table_XC.shape.at(0),
                 static_cast<int>(op.table_XC.shape.at(1)), cuda::Positions{op.first, op.step});
  });
}

}  // namespace penstock::layers
