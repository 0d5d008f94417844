#include <algorithm>

#include "layers/cuda/convolution/own_convolutions.h"
#include "layers/cuda/core/block.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"

namespace penstock::layers::cuda {
namespace {

constexpr int kThreads = 256;

/// Sizes of a tile's windows [row][frequency][tap of time][tap of frequency][in channel], and of
/// the input's image.
struct ImageWindows {
  explicit ImageWindows(const Conv2dGeometry& g)
      : channels(static_cast<int>(g.in_channels)),
        in_frequencies(static_cast<int>(g.in_frequencies)),
        out_frequencies(static_cast<int>(g.out_frequencies())),
        time(static_cast<int>(g.time.kernel)),
        frequency(static_cast<int>(g.frequency.kernel)),
        time_stride(static_cast<int>(g.time.stride)),
        frequency_stride(static_cast<int>(g.frequency.stride)),
        time_padding(static_cast<int>(g.time.padding)),
        frequency_padding(static_cast<int>(g.frequency.padding)) {}
  /// Returns how many numbers the windows of one output row have.
  __host__ __device__ std::int64_t row() const {
    return std::int64_t{out_frequencies} * time * frequency * channels;
  }
  int channels, in_frequencies, out_frequencies, time, frequency;
  int time_stride, frequency_stride, time_padding, frequency_padding;
};

/// A range of rows of an image.
struct ImageRows {
  std::int64_t first, count;
};

/// Sums the gradients of a tile's windows into the input (col2im), in the order of taps and without
/// atomic additions. One block for each input row that the tile sees.
__global__ void __launch_bounds__(kThreads)
    add_windows(const float* windows, float* in, ImageWindows size, ImageRows inputs,
                ImageRows outputs) {
  const std::int64_t row = inputs.first + block_x();
  const int columns = size.in_frequencies * size.channels;
  for (int column = static_cast<int>(thread_x()); column < columns; column += kThreads) {
    const int channel = column % size.channels;
    const int f = column / size.channels + size.frequency_padding;
    float sum = 0;
    for (int t = 0; t < size.time; ++t) {
      const std::int64_t from = row + size.time_padding - t;
      const std::int64_t out_row = from / size.time_stride - outputs.first;
      if (from < 0 || from % size.time_stride != 0 || out_row < 0 || out_row >= outputs.count)
        continue;
      const float* const of_row = windows + out_row * size.row() + channel;
      // The first tap that saw this frequency, then every `frequency_stride`-th.
      for (int s = f % size.frequency_stride; s < size.frequency && s <= f;
           s += size.frequency_stride) {
        const int out_f = (f - s) / size.frequency_stride;
        if (out_f >= size.out_frequencies) continue;
        sum += of_row[((std::int64_t{out_f} * size.time + t) * size.frequency + s) * size.channels];
      }
    }
    in[row * columns + column] += sum;
  }
}

}  // namespace

// Neighbouring tiles of output rows see some input rows in common, so each tile adds to the
// gradient, which starts as zeros. `max` is the number of output rows whose windows fit the
// workspace.
void convolve_to_input_by_products(CudaStream& stream, Products& products, const Convolution& c) {
  const Conv2dGeometry& g = c.geometry;
  const ImageWindows size(g);
  const std::int64_t taps = g.time.kernel * g.frequency.kernel * g.in_channels;
  const auto row_bytes = static_cast<std::size_t>(size.row()) * sizeof(float);
  const auto max = static_cast<std::int64_t>(c.workspace.size() / row_bytes);
  if (max == 0) return convolve_directly_to_input(stream, c);
  check(
      cudaMemsetAsync(c.in, 0, static_cast<std::size_t>(c.in_rows * g.in_columns()) * sizeof(float),
                      stream.handle()),
      "clearing a gradient");
  const Tensor out{c.out, DType::f32, {c.out_rows * size.out_frequencies, g.out_channels}};
  const Tensor filter{c.filter, DType::f32, {g.out_channels, taps}};
  for (std::int64_t first = 0; first < c.out_rows; first += max) {
    const ImageRows outputs{first, std::min(max, c.out_rows - first)};
    const std::int64_t places = outputs.count * size.out_frequencies;
    const Tensor windows{c.workspace.data(), DType::f32, {places, taps}};
    products.run(stream, {.a = Matrix(out, first * size.out_frequencies * g.out_channels, places,
                                      g.out_channels, g.out_channels),
                          .b = filter,
                          .d = windows});
    const std::int64_t begin = std::max<std::int64_t>(0, first * g.time.stride - g.time.padding),
                       end = std::min(c.in_rows, (first + outputs.count - 1) * g.time.stride -
                                                     g.time.padding + g.time.kernel);
    if (begin >= end) continue;
    launch(stream.handle(), {dim3(static_cast<unsigned>(end - begin)), dim3(kThreads)}, add_windows,
           static_cast<const float*>(windows.data), static_cast<float*>(c.in), size,
           ImageRows{begin, end - begin}, outputs);
  }
}

}  // namespace penstock::layers::cuda
