#include "layers/cuda/norms/column_sums.h"

namespace penstock::layers::cuda {
namespace {

/// Adds the chunks of a number in their order, one thread for each number.
__global__ void add(const double* partial, std::int64_t chunks, int width, double factor,
                    double* sums) {
  const std::int64_t i = grid_thread();
  if (i >= width) return;
  double sum = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[chunk * width + i];
  sums[i] = factor * sum;
}

/// Adds FP64 sums to FP32 gradients. A sum is rounded here for the first time.
__global__ void add_to_total(const double* sums, int count, float* total) {
  const std::int64_t i = grid_thread();
  if (i < count) total[i] += static_cast<float>(sums[i]);
}

/// Adds sums [tap][channel] to a weight [channel][tap]. Sums have neighbouring channels in
/// neighbouring places, since threads read x so.
__global__ void add_transposed(const double* sums_KC, int channels, int kernel, float* total) {
  const std::int64_t i = grid_thread();
  if (i >= channels * kernel) return;
  const std::int64_t channel = i / kernel, k = i % kernel;
  total[i] += static_cast<float>(sums_KC[k * channels + channel]);
}

}  // namespace

void add_chunks(cudaStream_t stream, const double* partial, std::int64_t chunks, int width,
                double factor, double* sums) {
  launch(stream, grid_over(width), add, partial, chunks, width, factor, sums);
}

void add_to(cudaStream_t stream, const double* sums, int count, float* total) {
  launch(stream, grid_over(count), add_to_total, sums, count, total);
}

void add_transposed_to(cudaStream_t stream, const double* sums, int columns, int rows,
                       float* total) {
  launch(stream, grid_over(std::int64_t{columns} * rows), add_transposed, sums, columns, rows,
         total);
}

}  // namespace penstock::layers::cuda
