#include "layers/cuda/convolution/convolution_sizes.h"
#include "layers/cuda/convolution/own_convolutions.h"
#include "layers/cuda/core/block.h"
#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/core/utterances.h"
#include "layers/ops/conv2d.h"

namespace penstock::layers {
namespace cuda {
namespace {

// 2-D convolution of all utterances of a micro-batch by one call of cuDNN. Frames are copied into a
// tall image with rows of zeros between utterances (Conv2dImage), and the weight is reordered to
// cuDNN's filter. After the convolution, the rows that belong to utterances are copied back, with
// the bias added. Depthwise convolutions have kernels of their own (depthwise_conv2d.cu).

constexpr int kThreads = 256;

/// First rows of the utterances in an image and in a matrix of frames.
struct Rows {
  const std::int64_t* in_image;
  const std::int64_t* in_frames;  // with one entry more: the number of rows
  int utterances;
};

/// Copies frames into the image; rows that no utterance owns become zeros. One block for each row
/// of the image.
template <class T>
__global__ void __launch_bounds__(kThreads)
    spread(const T* frames, T* image, Rows rows, std::int64_t columns) {
  const std::int64_t row = block_x();
  const int u = last_at_or_before(rows.in_image, rows.utterances, row);
  const std::int64_t t = row - rows.in_image[u], frame = rows.in_frames[u] + t;
  const bool real = frame < rows.in_frames[u + 1];
  for (std::int64_t i = thread_x(); i < columns; i += kThreads)
    image[row * columns + i] = real ? frames[frame * columns + i] : from_float<T>(0.0f);
}

/// Bias that is added to the channels of every frequency, or null. Columns fit 32 bits, because an
/// image has fewer than 2³¹ numbers.
template <class T>
struct ImageBias {
  const T* bias_C;
  unsigned channels;
  __device__ T added_to(T value, std::int64_t column) const {
    return bias_C == nullptr
               ? value
               : from_float<T>(to_float(value) +
                               to_float(bias_C[static_cast<unsigned>(column) % channels]));
  }
};

/// Copies the frames of utterances out of the image and adds the bias. One block for each frame.
template <class T>
__global__ void __launch_bounds__(kThreads)
    gather(const T* image, T* frames, Rows rows, std::int64_t columns, ImageBias<T> bias) {
  const std::int64_t frame = block_x();
  const int u = last_at_or_before(rows.in_frames, rows.utterances, frame);
  const std::int64_t row = rows.in_image[u] + frame - rows.in_frames[u];
  for (std::int64_t i = thread_x(); i < columns; i += kThreads)
    frames[frame * columns + i] = bias.added_to(image[row * columns + i], i);
}

/// Sizes of a weight [out, in, frequency, time], and the permutation that takes its numbers to
/// cuDNN's filter [out, time, frequency, in].
struct Filter {
  explicit Filter(const Conv2dGeometry& g)
      : count(element_count(g.weight_shape())),
        in(g.in_channels),
        frequency(g.frequency.kernel),
        time(g.time.kernel) {}
  /// Returns the place in the filter of number `place` of the weight.
  __device__ std::int64_t of_weight(std::int64_t place) const {
    const std::int64_t t = place % time, f = place / time % frequency,
                       i = place / (time * frequency) % in, o = place / (time * frequency * in);
    return ((o * time + t) * frequency + f) * in + i;
  }
  std::int64_t count, in, frequency, time;
};

template <class T>
__global__ void reorder(const T* weight, T* filter, Filter order) {
  const std::int64_t i = grid_thread();
  if (i < order.count) filter[order.of_weight(i)] = weight[i];
}

/// Adds a filter's gradient to that of the weight, after it has undone
/// filter_gradient_scale() in FP32.
template <class T>
__global__ void add_reordered(const T* filter, float* weight, Filter order, float scale) {
  const std::int64_t i = grid_thread();
  if (i < order.count) weight[i] += to_float(filter[order.of_weight(i)]) / scale;
}

/// One convolution: its images and filter in the workspace, and the copies into and out of them.
template <class T>
class Pass {
 public:
  Pass(CudaStream& stream, const Conv2dGeometry& geometry, DType dtype,
       std::span<std::byte> workspace)
      : stream_(stream),
        geometry_(geometry),
        dtype_(dtype),
        image_(geometry),
        scratch_(workspace),
        room_(scratch_, geometry, dtype) {
    in_ =
        upload(image_.in_starts, starts_of(geometry.lengths), room_.in_starts, room_.in_first_rows);
    out_ = upload(image_.out_starts, starts_of(geometry.out_lengths()), room_.out_starts,
                  room_.out_first_rows);
  }

  Convolution convolution() const {
    return {.geometry = geometry_,
            .dtype = dtype_,
            .in_rows = image_.in_rows,
            .out_rows = image_.out_rows,
            .in = room_.in_image,
            .out = room_.out_image,
            .filter = room_.filter,
            .workspace = {room_.library, room_.library_bytes}};
  }
  /// take_in(), take_out() and take_filter() fill what cuDNN reads; leave_in(), leave_out() and
  /// add_filter() copy out what it wrote.
  void take_in(const Tensor& x_FC) const {
    launch(stream_.handle(), rows(image_.in_rows), spread<T>, data_of<T>(x_FC),
           reinterpret_cast<T*>(room_.in_image), in_, geometry_.in_columns());
  }
  void take_out(const Tensor& y_FC) const {
    launch(stream_.handle(), rows(image_.out_rows), spread<T>, data_of<T>(y_FC),
           reinterpret_cast<T*>(room_.out_image), out_, geometry_.out_columns());
  }
  void take_filter(const Tensor& weight) const {
    launch(stream_.handle(), grid_over(weight.size()), reorder<T>, data_of<T>(weight),
           reinterpret_cast<T*>(room_.filter), Filter(geometry_));
  }
  void leave_in(const Tensor& x_FC) const {
    launch(stream_.handle(), rows(x_FC.shape.at(0)), gather<T>,
           reinterpret_cast<const T*>(room_.in_image), data_of<T>(x_FC), in_,
           geometry_.in_columns(), ImageBias<T>{});
  }
  void leave_out(const Tensor& y_FC, const Tensor& bias_O) const {
    const T* const bias = bias_O.data == nullptr ? nullptr : data_of<T>(bias_O);
    launch(stream_.handle(), rows(y_FC.shape.at(0)), gather<T>,
           reinterpret_cast<const T*>(room_.out_image), data_of<T>(y_FC), out_,
           geometry_.out_columns(),
           ImageBias<T>{bias, static_cast<unsigned>(geometry_.out_channels)});
  }
  void add_filter(const Tensor& dweight) const {
    launch(stream_.handle(), grid_over(dweight.size()), add_reordered<T>,
           reinterpret_cast<const T*>(room_.filter), data_of<float>(dweight), Filter(geometry_),
           filter_gradient_scale(dtype_));
  }

 private:
  static Grid rows(std::int64_t count) {
    return {dim3(static_cast<unsigned>(count)), dim3(kThreads)};
  }
  Rows upload(const std::vector<std::int64_t>& in_image, const std::vector<std::int64_t>& in_frames,
              std::int64_t* image_memory, std::int64_t* frames_memory) {
    stream_.copy_in(image_memory, in_image.data(), in_image.size() * sizeof(std::int64_t));
    stream_.copy_in(frames_memory, in_frames.data(), in_frames.size() * sizeof(std::int64_t));
    return {image_memory, frames_memory, static_cast<int>(in_image.size())};
  }

  CudaStream& stream_;
  const Conv2dGeometry& geometry_;
  DType dtype_;
  Conv2dImage image_;
  Scratch scratch_;
  Conv2dRoom room_;
  Rows in_, out_;
};

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const Conv2dForward& op) {
  if (op.y_FC.size() == 0) return;
  auto& own = static_cast<CudaStream&>(stream);
  if (op.geometry.depthwise) return cuda::convolve_depthwise(own, op);
  cuda::with_type_of(op.y_FC, "Conv2dForward", [&]<class T>(T) {
    cuda::Pass<T> pass(own, op.geometry, op.y_FC.dtype, op.workspace);
    pass.take_in(op.x_FC);
    pass.take_filter(op.weight);
    convolutions_.forward(own, pass.convolution());
    pass.leave_out(op.y_FC, op.bias_O);
  });
}

// In full FP32 the gradient of the input goes by products of our own: cuDNN's deterministic
// algorithm for it is slow (own_convolutions.h).
template <>
void CudaBackend::compute(Stream& stream, const Conv2dBackwardInput& op) {
  if (op.dx_FC.size() == 0) return;
  auto& own = static_cast<CudaStream&>(stream);
  if (op.geometry.depthwise) return cuda::convolve_depthwise(own, op);
  cuda::with_type_of(op.dy_FC, "Conv2dBackwardInput", [&]<class T>(T) {
    cuda::Pass<T> pass(own, op.geometry, op.dy_FC.dtype, op.workspace);
    pass.take_out(op.dy_FC);
    pass.take_filter(op.weight);
    if (op.dy_FC.dtype == DType::f32 && fp32_products_ == Fp32Products::full)
      cuda::convolve_to_input_by_products(own, products_, pass.convolution());
    else
      convolutions_.backward_input(own, pass.convolution());
    pass.leave_in(op.dx_FC);
  });
}

template <>
void CudaBackend::compute(Stream& stream, const Conv2dBackwardWeight& op) {
  if (op.dy_FC.size() == 0) return;
  auto& own = static_cast<CudaStream&>(stream);
  if (op.geometry.depthwise) return cuda::convolve_depthwise(own, op);
  cuda::with_type_of(op.dy_FC, "Conv2dBackwardWeight", [&]<class T>(T) {
    cuda::Pass<T> pass(own, op.geometry, op.dy_FC.dtype, op.workspace);
    pass.take_in(op.x_FC);
    pass.take_out(op.dy_FC);
    convolutions_.backward_filter(own, pass.convolution());
    pass.add_filter(op.dweight);
  });
}

}  // namespace penstock::layers
