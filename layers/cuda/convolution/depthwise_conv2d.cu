#include "layers/cuda/convolution/conv2d_axis.h"
#include "layers/cuda/convolution/own_convolutions.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/core/utterances.h"
#include "layers/cuda/norms/column_sums.h"

// Every channel is convolved by itself, so there is no matrix product. Forward and the gradient of
// the input give each number of the result one thread, which gathers its terms in the order of the
// taps. Nothing is added by atomics, and results are the same in every run. The gradient of the
// weight is a sum over all frames and frequencies for each tap of each channel. sum_columns()
// computes it in FP64, in a fixed order as well.
//
// Neighbouring threads have neighbouring channels, so a warp reads adjacent numbers of the image.

namespace penstock::layers::cuda {
namespace {

/// Sizes of both images of a convolution, and the rows of their utterances.
struct DepthwiseImage {
  Conv2dAxis frequency, time;
  std::int64_t in_rows, out_rows;
  int channels, in_frequencies, out_frequencies;
  Utterances in, out;

  int kernel() const { return static_cast<int>(frequency.kernel * time.kernel); }
};

/// Taps of each channel, and the bias that is added to their sums.
template <class T>
struct ImageTaps {
  const T* weight_CK;
  const T* bias_C;  // or null
};

constexpr int kColumnsOfBlock = 256;

/// Returns a grid with a row of blocks for each row of an image, over its columns.
Grid over_rows(std::int64_t rows, std::int64_t columns) {
  return {dim3(static_cast<unsigned>(rows),
               static_cast<unsigned>((columns + kColumnsOfBlock - 1) / kColumnsOfBlock)),
          dim3(kColumnsOfBlock)};
}

/// Returns the thread's column [frequency][channel] of its row.
__device__ inline int column_of_thread() {
  return static_cast<int>(block_y()) * kColumnsOfBlock + thread_x();
}

/// Computes y. One thread for each number loops over the taps, and sums in FP32.
template <class T>
__global__ void convolve_image(const T* x, T* y, ImageTaps<T> taps, DepthwiseImage image) {
  const int column = column_of_thread(), channels = image.channels;
  if (column >= image.out_frequencies * channels) return;
  const std::int64_t row = block_x(), c = column % channels, f = column / channels;
  const int utterance = image.out.of_row[row];
  const std::int64_t begin = image.in.starts[utterance], end = image.in.starts[utterance + 1];
  const std::int64_t from_row =
      begin + (row - image.out.starts[utterance]) * image.time.stride - image.time.padding;
  const std::int64_t from_f = f * image.frequency.stride - image.frequency.padding;
  const T* weight = taps.weight_CK + c * image.frequency.kernel * image.time.kernel;
  float sum = 0;
  for (std::int64_t step_f = 0; step_f < image.frequency.kernel; ++step_f)
    for (std::int64_t step_t = 0; step_t < image.time.kernel; ++step_t, ++weight) {
      const std::int64_t at_f = from_f + step_f, at_row = from_row + step_t;
      if (at_f < 0 || at_f >= image.in_frequencies || at_row < begin || at_row >= end) continue;
      sum += to_float(*weight) * to_float(x[(at_row * image.in_frequencies + at_f) * channels + c]);
    }
  if (taps.bias_C != nullptr) sum += to_float(taps.bias_C[c]);
  y[row * image.out_frequencies * channels + column] = from_float<T>(sum);
}

/// Computes dx. One thread for each number gathers from the outputs that saw it, in the order of
/// taps.
template <class T>
__global__ void convolve_image_back(const T* dy, T* dx, const T* weight_CK, DepthwiseImage image) {
  const int column = column_of_thread(), channels = image.channels;
  if (column >= image.in_frequencies * channels) return;
  const std::int64_t row = block_x(), c = column % channels, f = column / channels;
  const int utterance = image.in.of_row[row];
  const std::int64_t begin = image.out.starts[utterance];
  const std::int64_t frames = image.out.starts[utterance + 1] - begin;
  const std::int64_t t = row - image.in.starts[utterance];
  const T* weight = weight_CK + c * image.frequency.kernel * image.time.kernel;
  float sum = 0;
  for (std::int64_t step_f = 0; step_f < image.frequency.kernel; ++step_f)
    for (std::int64_t step_t = 0; step_t < image.time.kernel; ++step_t, ++weight) {
      const std::int64_t at_f = seen_from(image.frequency, f, step_f, image.out_frequencies);
      const std::int64_t at_t = seen_from(image.time, t, step_t, frames);
      if (at_f < 0 || at_t < 0) continue;
      sum += to_float(*weight) *
             to_float(dy[((begin + at_t) * image.out_frequencies + at_f) * channels + c]);
    }
  dx[row * image.in_frequencies * channels + column] = from_float<T>(sum);
}

/// The term of the weight's gradient for column_sums.h. A row is a frequency of a frame of dy.
/// Columns are [frequency step][time step][channel], so that neighbouring threads read neighbouring
/// channels.
template <class T>
struct ImageWeightGradient {
  static constexpr int kSums = 1;
  const T* x;
  const T* dy;
  DepthwiseImage image;
  int columns;
  __device__ void add(std::int64_t element, int column, double* sums) const {
    const std::int64_t place = element / columns, channel = column % image.channels;
    const std::int64_t f = place % image.out_frequencies, row = place / image.out_frequencies;
    const std::int64_t step = column / image.channels;
    const int utterance = image.out.of_row[row];
    const std::int64_t begin = image.in.starts[utterance], end = image.in.starts[utterance + 1];
    const std::int64_t from_row = begin + (row - image.out.starts[utterance]) * image.time.stride -
                                  image.time.padding + step % image.time.kernel;
    const std::int64_t from_f =
        f * image.frequency.stride - image.frequency.padding + step / image.time.kernel;
    if (from_f < 0 || from_f >= image.in_frequencies || from_row < begin || from_row >= end) return;
    sums[0] += static_cast<double>(to_float(dy[place * image.channels + channel])) *
               static_cast<double>(to_float(
                   x[(from_row * image.in_frequencies + from_f) * image.channels + channel]));
  }
};

/// Copies the geometry's utterances to the device, into memory of `scratch`.
DepthwiseImage upload_image(CudaStream& stream, const Conv2dGeometry& geometry, Scratch& scratch) {
  const std::vector<std::int64_t> out_lengths = geometry.out_lengths();
  const UtterancesWorkspace in(scratch, geometry.lengths), out(scratch, out_lengths);
  return {geometry.frequency,
          geometry.time,
          rows_of(geometry.lengths),
          rows_of(out_lengths),
          static_cast<int>(geometry.in_channels),
          static_cast<int>(geometry.in_frequencies),
          static_cast<int>(geometry.out_frequencies()),
          upload_utterances(stream, geometry.lengths, in),
          upload_utterances(stream, out_lengths, out)};
}

}  // namespace

void convolve_depthwise(CudaStream& stream, const Conv2dForward& op) {
  Scratch scratch = stream.scratch();
  const DepthwiseImage image = upload_image(stream, op.geometry, scratch);
  with_type_of(op.x_FC, "Conv2dForward", [&]<class T>(T) {
    launch(stream.handle(), over_rows(image.out_rows, op.geometry.out_columns()), convolve_image<T>,
           data_of<T>(op.x_FC), data_of<T>(op.y_FC),
           ImageTaps<T>{data_of<T>(op.weight),
                        op.bias_O.data == nullptr ? nullptr : data_of<T>(op.bias_O)},
           image);
  });
}

void convolve_depthwise(CudaStream& stream, const Conv2dBackwardInput& op) {
  Scratch scratch = stream.scratch();
  const DepthwiseImage image = upload_image(stream, op.geometry, scratch);
  with_type_of(op.dy_FC, "Conv2dBackwardInput", [&]<class T>(T) {
    launch(stream.handle(), over_rows(image.in_rows, op.geometry.in_columns()),
           convolve_image_back<T>, data_of<T>(op.dy_FC), data_of<T>(op.dx_FC),
           data_of<T>(op.weight), image);
  });
}

void convolve_depthwise(CudaStream& stream, const Conv2dBackwardWeight& op) {
  Scratch scratch = stream.scratch();
  const DepthwiseImage image = upload_image(stream, op.geometry, scratch);
  const int columns = image.channels * image.kernel();
  const std::int64_t rows = image.out_rows * image.out_frequencies;
  with_type_of(op.x_FC, "Conv2dBackwardWeight", [&]<class T>(T) {
    using Term = ImageWeightGradient<T>;
    auto* const sums = scratch.take<double>(columns);
    auto* const partial = scratch.take<double>(partial_count<Term>(rows, columns));
    const Term term{data_of<T>(op.x_FC), data_of<T>(op.dy_FC), image, columns};
    sum_columns(stream.handle(), term,
                {.rows = rows, .columns = columns, .partial = partial, .sums = sums});
    add_transposed_to(stream.handle(), sums, image.channels, image.kernel(),
                      data_of<float>(op.dweight));
  });
}

}  // namespace penstock::layers::cuda
