#include "layers/cuda/convolution/convolution_description.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/error.h"

// All utterances of a micro-batch are one NHWC image of batch size 1: its height is time, and its
// width is frequency. That is how the frames lie in memory, so nothing is transposed. cuDNN counts
// numbers of an image in 32 bits.

namespace penstock::layers::cuda {
namespace {

cudnnDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return CUDNN_DATA_FLOAT;
    case DType::f16:
      return CUDNN_DATA_HALF;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    default:
      throw DeviceError(
          fmt::format("convolutions on CUDA are of f32, f16 or bf16, not {}", name_of(dtype)));
  }
}

int as_int(std::int64_t size) { return static_cast<int>(size); }

}  // namespace

void check(cudnnStatus_t status, std::string_view doing) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> reason{};
  cudnnGetLastErrorString(reason.data(), reason.size());
  throw DeviceError(fmt::format("{}: {} ({})", doing, cudnnGetErrorString(status), reason.data()));
}

std::string text_of(const Convolution& convolution) {
  const Conv2dGeometry& g = convolution.geometry;
  return fmt::format(
      "cuDNN's convolution in {} of {} frames × {} frequencies × {} channels by {} × {} into {} "
      "frames × {} channels",
      name_of(convolution.dtype), convolution.in_rows, g.in_frequencies, g.in_channels,
      g.time.kernel, g.frequency.kernel, convolution.out_rows, g.out_channels);
}

ConvolutionDescription::ConvolutionDescription(const Convolution& c)
    : in_(image(c.dtype, c.in_rows, c.geometry.in_frequencies, c.geometry.in_channels)),
      out_(image(c.dtype, c.out_rows, c.geometry.out_frequencies(), c.geometry.out_channels)),
      filter_(filter_of(c)),
      convolution_(convolution_of(c)) {}

void ConvolutionDescription::use(cudnnMathType_t math) const {
  check(cudnnSetConvolutionMathType(convolution(), math), "describing a convolution");
}

// cuDNN takes sizes in the order n, c, h, w for every layout. The layout says how they lie in
// memory.
ConvolutionDescription::TensorHandle ConvolutionDescription::image(DType dtype, std::int64_t rows,
                                                                   std::int64_t frequencies,
                                                                   std::int64_t channels) {
  if (rows * frequencies * channels > std::numeric_limits<int>::max())
    throw DeviceError(
        fmt::format("cuDNN's images have less than 2^31 numbers, and {} frames × {} are more: take "
                    "smaller micro-batches",
                    rows, frequencies * channels));
  cudnnTensorDescriptor_t descriptor = nullptr;
  check(cudnnCreateTensorDescriptor(&descriptor), "describing an image");
  TensorHandle owned(descriptor);
  check(cudnnSetTensor4dDescriptor(descriptor, CUDNN_TENSOR_NHWC, data_type(dtype), 1,
                                   as_int(channels), as_int(rows), as_int(frequencies)),
        "describing an image");
  return owned;
}

ConvolutionDescription::FilterHandle ConvolutionDescription::filter_of(const Convolution& c) {
  cudnnFilterDescriptor_t descriptor = nullptr;
  check(cudnnCreateFilterDescriptor(&descriptor), "describing a filter");
  FilterHandle owned(descriptor);
  check(cudnnSetFilter4dDescriptor(descriptor, data_type(c.dtype), CUDNN_TENSOR_NHWC,
                                   as_int(c.geometry.out_channels), as_int(c.geometry.in_channels),
                                   as_int(c.geometry.time.kernel),
                                   as_int(c.geometry.frequency.kernel)),
        "describing a filter");
  return owned;
}

// A convolution here is a cross-correlation without dilation, as PyTorch's is, and sums in FP32
// whatever the dtype of its operands.
ConvolutionDescription::ConvolutionHandle ConvolutionDescription::convolution_of(
    const Convolution& c) {
  const Conv2dAxis &time = c.geometry.time, &frequency = c.geometry.frequency;
  cudnnConvolutionDescriptor_t descriptor = nullptr;
  check(cudnnCreateConvolutionDescriptor(&descriptor), "describing a convolution");
  ConvolutionHandle owned(descriptor);
  check(cudnnSetConvolution2dDescriptor(descriptor, as_int(time.padding), as_int(frequency.padding),
                                        as_int(time.stride), as_int(frequency.stride), 1, 1,
                                        CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "describing a convolution");
  return owned;
}

}  // namespace penstock::layers::cuda
