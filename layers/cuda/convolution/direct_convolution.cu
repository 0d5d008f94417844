#include "layers/cuda/convolution/conv2d_axis.h"
#include "layers/cuda/convolution/own_convolutions.h"
#include "layers/cuda/core/block.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/core/reduce.h"

// These kernels convolve by the definition, out[t, f, o] = Σ in[t·st + i - pt, f·sf + j - pf, c] ·
// filter[o, i, j, c], and are slow. They run if cuDNN has no algorithm for a geometry, or if the
// workspace is too small for convolve_to_input_by_products(), so that no model fails for that.

namespace penstock::layers::cuda {
namespace {

constexpr int kFilterThreads = 128;

/// Sizes of both images [row][frequency][channel] and of the filter [out][time][frequency][in].
struct DenseImage {
  explicit DenseImage(const Convolution& c)
      : frequency(c.geometry.frequency),
        time(c.geometry.time),
        in_rows(c.in_rows),
        out_rows(c.out_rows),
        in_frequencies(c.geometry.in_frequencies),
        out_frequencies(c.geometry.out_frequencies()),
        in_channels(c.geometry.in_channels),
        out_channels(c.geometry.out_channels) {}

  __host__ __device__ std::int64_t in_count() const {
    return in_rows * in_frequencies * in_channels;
  }
  __host__ __device__ std::int64_t out_count() const {
    return out_rows * out_frequencies * out_channels;
  }
  __host__ __device__ std::int64_t filter_count() const {
    return out_channels * time.kernel * frequency.kernel * in_channels;
  }
  /// Returns the index of a tap's first number in the filter.
  __device__ std::int64_t tap(std::int64_t out, std::int64_t step_t, std::int64_t step_f) const {
    return ((out * time.kernel + step_t) * frequency.kernel + step_f) * in_channels;
  }
  /// Returns the index of the first number that a tap sees from a place of the result, or -1 if
  /// that is padding.
  __device__ std::int64_t seen(std::int64_t row, std::int64_t f, std::int64_t step_t,
                               std::int64_t step_f) const {
    const std::int64_t at_row = row * time.stride - time.padding + step_t;
    const std::int64_t at_f = f * frequency.stride - frequency.padding + step_f;
    if (at_row < 0 || at_row >= in_rows || at_f < 0 || at_f >= in_frequencies) return -1;
    return (at_row * in_frequencies + at_f) * in_channels;
  }

  Conv2dAxis frequency, time;
  std::int64_t in_rows, out_rows, in_frequencies, out_frequencies, in_channels, out_channels;
};

/// Computes `out`, one thread for each number.
template <class T>
__global__ void convolve_dense(const T* in, const T* filter, T* out, DenseImage image) {
  const std::int64_t i = grid_thread();
  if (i >= image.out_count()) return;
  const std::int64_t channel = i % image.out_channels, place = i / image.out_channels;
  const std::int64_t f = place % image.out_frequencies, row = place / image.out_frequencies;
  float sum = 0;
  for (std::int64_t t = 0; t < image.time.kernel; ++t)
    for (std::int64_t step = 0; step < image.frequency.kernel; ++step) {
      const std::int64_t x = image.seen(row, f, t, step), w = image.tap(channel, t, step);
      if (x < 0) continue;
      for (std::int64_t c = 0; c < image.in_channels; ++c)
        sum += to_float(in[x + c]) * to_float(filter[w + c]);
    }
  out[i] = from_float<T>(sum);
}

/// Computes the gradient `in`, one thread for each number, which gathers from the outputs that saw
/// it.
template <class T>
__global__ void convolve_dense_back(const T* out, const T* filter, T* in, DenseImage image) {
  const std::int64_t i = grid_thread();
  if (i >= image.in_count()) return;
  const std::int64_t channel = i % image.in_channels, place = i / image.in_channels;
  const std::int64_t f = place % image.in_frequencies, row = place / image.in_frequencies;
  float sum = 0;
  for (std::int64_t t = 0; t < image.time.kernel; ++t)
    for (std::int64_t step = 0; step < image.frequency.kernel; ++step) {
      const std::int64_t at_row = seen_from(image.time, row, t, image.out_rows);
      const std::int64_t at_f = seen_from(image.frequency, f, step, image.out_frequencies);
      if (at_row < 0 || at_f < 0) continue;
      const std::int64_t y = (at_row * image.out_frequencies + at_f) * image.out_channels;
      for (std::int64_t o = 0; o < image.out_channels; ++o)
        sum += to_float(out[y + o]) * to_float(filter[image.tap(o, t, step) + channel]);
    }
  in[i] = from_float<T>(sum);
}

/// Computes the gradient of the filter. One block for each number; its threads share the places of
/// the result, and their FP64 sums are combined in a fixed order.
template <class T>
__global__ void __launch_bounds__(kFilterThreads)
    convolve_dense_to_filter(const T* in, const T* out, T* filter, DenseImage image, float scale) {
  BLOCK_SHARED(double, of_warp, [kFilterThreads / kWarp]);
  const std::int64_t number = block_x(), channel = number % image.in_channels;
  const std::int64_t tap = number / image.in_channels, step = tap % image.frequency.kernel;
  const std::int64_t t = tap / image.frequency.kernel % image.time.kernel;
  const std::int64_t o = tap / (image.frequency.kernel * image.time.kernel);
  double sum = 0;
  for (std::int64_t place = thread_x(); place < image.out_rows * image.out_frequencies;
       place += kFilterThreads) {
    const std::int64_t x =
        image.seen(place / image.out_frequencies, place % image.out_frequencies, t, step);
    if (x < 0) continue;
    sum += static_cast<double>(to_float(in[x + channel])) *
           static_cast<double>(to_float(out[place * image.out_channels + o]));
  }
  sum = combine_block(sum, of_warp, Sum{});
  if (thread_x() == 0) filter[number] = from_float<T>(scale * static_cast<float>(sum));
}

/// Calls body(in, out, filter) with pointers of the convolution's number type.
template <class Body>
void with_numbers_of(const Convolution& c, Body body) {
  with_type_of({c.in, c.dtype, {}}, "a convolution", [&]<class T>(T) {
    body(static_cast<T*>(c.in), static_cast<T*>(c.out), static_cast<T*>(c.filter));
  });
}

}  // namespace

void convolve_directly(CudaStream& stream, const Convolution& c) {
  const DenseImage image(c);
  with_numbers_of(c, [&]<class T>(T* in, T* out, T* filter) {
    launch(stream.handle(), grid_over(image.out_count()), convolve_dense<T>, in, filter, out,
           image);
  });
}

void convolve_directly_to_input(CudaStream& stream, const Convolution& c) {
  const DenseImage image(c);
  with_numbers_of(c, [&]<class T>(T* in, T* out, T* filter) {
    launch(stream.handle(), grid_over(image.in_count()), convolve_dense_back<T>, out, filter, in,
           image);
  });
}

void convolve_directly_to_filter(CudaStream& stream, const Convolution& c) {
  const DenseImage image(c);
  with_numbers_of(c, [&]<class T>(T* in, T* out, T* filter) {
    launch(stream.handle(),
           {dim3(static_cast<unsigned>(image.filter_count())), dim3(kFilterThreads)},
           convolve_dense_to_filter<T>, in, out, filter, image, filter_gradient_scale(c.dtype));
  });
}

}  // namespace penstock::layers::cuda
