#include <algorithm>

#include "layers/cpu/convolution/conv2d_methods.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/products/product.h"
#include "layers/scratch.h"

// All three passes go through one frame's windows (im2col), a matrix W with a row for each output
// frequency, and the weight K laid out as [window, out channels]:
//   forward          gathers W from x, then y = W · K
//   backward_input   W = dy · K^T, then adds W to the places of dx that it was gathered from
//   backward_weight  gathers W from x, then dK += W^T · dy
// Within a window the order is [time tap][frequency tap][channel], as in a frame, so the taps of
// one frame are one contiguous run. Runs are cut at the first and last frequency, and the rest of
// the window stays 0; that is the padding. A frame at a time keeps W in cache, however long the
// batch.

namespace penstock::layers::conv2d_direct {
namespace {

// The windows of one output frame (im2col): rows are output frequencies, columns are [time
// tap][frequency tap][channel].
template <class T>
class Windows {
 public:
  Windows(const Conv2dGeometry& geometry, Scratch& scratch)
      : rows(geometry.out_frequencies()),
        columns(geometry.time.kernel * geometry.frequency.kernel * geometry.in_channels),
        matrix(scratch.take<T>(rows * columns)),
        g_(geometry) {}

  // Fills the matrix from an utterance of `length` frames at x, for its output frame t.
  void gather(const T* x, std::int64_t length, std::int64_t t) const {
    std::fill_n(matrix, rows * columns, T{0});
    for_each_piece(length, t, [&](std::int64_t place, std::int64_t count, T* window) {
      std::copy_n(x + place, count, window);
    });
  }

  // Adds the matrix to the places that gather() reads.
  void scatter(T* dx, std::int64_t length, std::int64_t t) const {
    for_each_piece(length, t, [&](std::int64_t place, std::int64_t count, const T* window) {
      for (std::int64_t i = 0; i < count; ++i) dx[place + i] += window[i];
    });
  }

  const std::int64_t rows, columns;
  T* const matrix;

 private:
  // Calls use(place in x, count, place in the matrix) for each run of numbers that is contiguous in
  // both. Neighbouring frequencies of a frame are neighbours in memory, and so in a window.
  template <class Use>
  void for_each_piece(std::int64_t length, std::int64_t t, const Use& use) const {
    const std::int64_t width = g_.frequency.kernel * g_.in_channels, row = g_.in_columns();
    for (std::int64_t j = 0; j < g_.time.kernel; ++j) {
      const std::int64_t s = t * g_.time.stride + j - g_.time.padding;
      if (s < 0 || s >= length) continue;
      for (std::int64_t f = 0; f < rows; ++f) {
        const std::int64_t start =
            (f * g_.frequency.stride - g_.frequency.padding) * g_.in_channels;
        const std::int64_t first = std::clamp<std::int64_t>(start, 0, row);
        const std::int64_t last = std::clamp<std::int64_t>(start + width, 0, row);
        use(s * row + first, last - first, matrix + f * columns + j * width + first - start);
      }
    }
  }

  const Conv2dGeometry& g_;
};

// Calls use(place in [time tap][frequency tap][channel][out], place in the weight).
template <class Use>
void for_each_weight(const Conv2dGeometry& g, const Use& use) {
  std::int64_t place = 0;
  for (std::int64_t j = 0; j < g.time.kernel; ++j)
    for (std::int64_t i = 0; i < g.frequency.kernel; ++i)
      for (std::int64_t c = 0; c < g.in_channels; ++c)
        for (std::int64_t o = 0; o < g.out_channels; ++o)
          use(place++, ((o * g.in_channels + c) * g.frequency.kernel + i) * g.time.kernel + j);
}

// Calls use(first number of the utterance's input, its length, t, output row) in order.
template <class Use>
void for_each_frame(const Conv2dGeometry& g, Stream& stream, const Use& use) {
  constexpr std::int64_t kProgressEvery = 16;
  std::int64_t input = 0, row = 0;
  for (std::int64_t length : g.lengths) {
    for (std::int64_t t = 0; t < g.time.outputs(length); ++t, ++row) {
      use(input, length, t, row);
      if (row % kProgressEvery == 0) stream.progress();
    }
    input += length * g.in_columns();
  }
}

template <class T>
T* take_weight(const Conv2dGeometry& g, Scratch& scratch) {
  return scratch.take<T>(element_count(g.weight_shape()));
}

template <class T>
T* gather_weight(const Conv2dGeometry& g, const T* weight, Scratch& scratch) {
  T* weight_KO = take_weight<T>(g, scratch);
  for_each_weight(g, [&](std::int64_t to, std::int64_t from) { weight_KO[to] = weight[from]; });
  return weight_KO;
}

template <class T>
void forward(Stream& stream, const Conv2dForward& op) {
  const Conv2dGeometry& g = op.geometry;
  Scratch scratch(op.workspace);
  const Windows<T> windows(g, scratch);
  const T* weight_KO = gather_weight(g, op.weight.as<T>(), scratch);
  const T* x = op.x_FC.as<T>();
  T* y = op.y_FC.as<T>();
  for_each_frame(g, stream,
                 [&](std::int64_t input, std::int64_t length, std::int64_t t, std::int64_t row) {
                   windows.gather(x + input, length, t);
                   run_product(Product<T>{.m = windows.rows,
                                          .n = g.out_channels,
                                          .k = windows.columns,
                                          .a = {windows.matrix, windows.columns},
                                          .b = {weight_KO, g.out_channels},
                                          .c = y + row * g.out_columns(),
                                          .c_stride = g.out_channels});
                 });
}

template <class T>
void backward_input(Stream& stream, const Conv2dBackwardInput& op) {
  const Conv2dGeometry& g = op.geometry;
  Scratch scratch(op.workspace);
  const Windows<T> windows(g, scratch);
  const T* weight_KO = gather_weight(g, op.weight.as<T>(), scratch);
  const T* dy = op.dy_FC.as<T>();
  T* dx = op.dx_FC.as<T>();
  std::fill_n(dx, op.dx_FC.size(), T{0});
  for_each_frame(g, stream,
                 [&](std::int64_t input, std::int64_t length, std::int64_t t, std::int64_t row) {
                   run_product(Product<T>{.m = windows.rows,
                                          .n = windows.columns,
                                          .k = g.out_channels,
                                          .a = {dy + row * g.out_columns(), g.out_channels},
                                          .b = {weight_KO, g.out_channels, true},
                                          .c = windows.matrix,
                                          .c_stride = windows.columns});
                   windows.scatter(dx + input, length, t);
                 });
}

template <class T>
void backward_weight(Stream& stream, const Conv2dBackwardWeight& op) {
  const Conv2dGeometry& g = op.geometry;
  Scratch scratch(op.workspace);
  const Windows<T> windows(g, scratch);
  T* dweight_KO = take_weight<T>(g, scratch);
  const T* x = op.x_FC.as<T>();
  const T* dy = op.dy_FC.as<T>();
  T* dweight = op.dweight.as<T>();
  std::fill_n(dweight_KO, op.dweight.size(), T{0});
  for_each_frame(g, stream,
                 [&](std::int64_t input, std::int64_t length, std::int64_t t, std::int64_t row) {
                   windows.gather(x + input, length, t);
                   run_product(Product<T>{.m = windows.columns,
                                          .n = g.out_channels,
                                          .k = windows.rows,
                                          .a = {windows.matrix, windows.columns, true},
                                          .b = {dy + row * g.out_columns(), g.out_channels},
                                          .c = dweight_KO,
                                          .c_stride = g.out_channels,
                                          .beta = 1});
                 });
  for_each_weight(g, [&](std::int64_t from, std::int64_t to) { dweight[to] += dweight_KO[from]; });
}

}  // namespace

Workspace workspace(const Conv2dGeometry& geometry, DType dtype) {
  Scratch count;
  for_real(dtype, "a 2-D convolution", [&](auto real) {
    using T = decltype(real);
    Windows<T>(geometry, count);
    take_weight<T>(geometry, count);
  });
  return {count.used(), count.used(), count.used()};
}

void run(Stream& stream, const Conv2dForward& op) {
  for_real(op.y_FC.dtype, "Conv2dForward", [&](auto real) { forward<decltype(real)>(stream, op); });
}

void run(Stream& stream, const Conv2dBackwardInput& op) {
  for_real(op.dy_FC.dtype, "Conv2dBackwardInput",
           [&](auto real) { backward_input<decltype(real)>(stream, op); });
}

void run(Stream& stream, const Conv2dBackwardWeight& op) {
  for_real(op.dy_FC.dtype, "Conv2dBackwardWeight",
           [&](auto real) { backward_weight<decltype(real)>(stream, op); });
}

}  // namespace penstock::layers::conv2d_direct
