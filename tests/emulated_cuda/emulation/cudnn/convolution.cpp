#include "tests/emulated_cuda/emulation/cudnn/convolution.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/emulated_cuda/emulation/tf32.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda::cudnn {
namespace {

std::vector<float> read(const void* data, cudnnDataType_t type, std::size_t count) {
  watch().operation_reads(data, count * size_of(type));
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = type == CUDNN_DATA_HALF ? __half2float(static_cast<const __half*>(data)[i])
                 : type == CUDNN_DATA_BFLOAT16
                     ? __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i])
                     : static_cast<const float*>(data)[i];
  return numbers;
}

void write(const std::vector<float>& numbers, void* data, cudnnDataType_t type) {
  watch().operation_writes(data, numbers.size() * size_of(type));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (type == CUDNN_DATA_HALF)
      static_cast<__half*>(data)[i] = __float2half_rn(numbers[i]);
    else if (type == CUDNN_DATA_BFLOAT16)
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(numbers[i]);
    else
      static_cast<float*>(data)[i] = numbers[i];
  }
}

int outputs(int size, int padding, int kernel, int stride) {
  return (size + 2 * padding - kernel) / stride + 1;
}

/// Calls use(input pixel, output pixel, tap) wherever the filter's tap falls on the image.
template <class Use>
void for_each_tap(const Convolution& c, Use use) {
  for (int y = 0; y < c.out.h; ++y)
    for (int x = 0; x < c.out.w; ++x)
      for (int i = 0; i < c.filter.h; ++i)
        for (int j = 0; j < c.filter.w; ++j) {
          const int in_y = y * c.how.stride_h + i - c.how.pad_h,
                    in_x = x * c.how.stride_w + j - c.how.pad_w;
          if (in_y >= 0 && in_y < c.in.h && in_x >= 0 && in_x < c.in.w)
            use(in_y * c.in.w + in_x, y * c.out.w + x, i * c.filter.w + j);
        }
}

}  // namespace

cudnnStatus_t check(const Convolution& c) {
  const auto& [in, out, filter, how, in_data, out_data, filter_data] = c;
  if (in.n != 1 || out.n != 1 || in.c != filter.c || out.c != filter.k ||
      out.h != outputs(in.h, how.pad_h, filter.h, how.stride_h) ||
      out.w != outputs(in.w, how.pad_w, filter.w, how.stride_w))
    return CUDNN_STATUS_BAD_PARAM;
  const bool half = in.type == CUDNN_DATA_HALF || in.type == CUDNN_DATA_BFLOAT16;
  if (in.type != out.type || in.type != filter.type || (!half && in.type != CUDNN_DATA_FLOAT) ||
      how.compute != CUDNN_DATA_FLOAT || in.format != CUDNN_TENSOR_NHWC ||
      out.format != CUDNN_TENSOR_NHWC || filter.format != CUDNN_TENSOR_NHWC ||
      how.mode != CUDNN_CROSS_CORRELATION || how.dilation_h != 1 || how.dilation_w != 1)
    return CUDNN_STATUS_NOT_SUPPORTED;
  return CUDNN_STATUS_SUCCESS;
}

void compute(const Convolution& c, Wanted wanted, float alpha) {
  const bool in_tf32 = c.in.type == CUDNN_DATA_FLOAT && c.how.math == CUDNN_TENSOR_OP_MATH;
  const auto operand = [&](Wanted own, Wanted wanted, const void* data, cudnnDataType_t type,
                           std::size_t count) {
    if (own == wanted) return std::vector<float>(count);
    std::vector<float> numbers = read(data, type, count);
    if (in_tf32) std::ranges::transform(numbers, numbers.begin(), rounded_to_tf32);
    return numbers;
  };
  auto in = operand(Wanted::in_gradient, wanted, c.in_data, c.in.type, numbers_in(c.in));
  auto out = operand(Wanted::out, wanted, c.out_data, c.out.type, numbers_in(c.out));
  auto filter =
      operand(Wanted::filter_gradient, wanted, c.filter_data, c.filter.type, numbers_in(c.filter));
  const std::int64_t taps = std::int64_t{c.filter.h} * c.filter.w;
  for_each_tap(c, [&](std::int64_t in_pixel, std::int64_t out_pixel, std::int64_t tap) {
    float* const x = in.data() + in_pixel * c.in.c;
    for (std::int64_t k = 0; k < c.out.c; ++k) {
      float& y = out[static_cast<std::size_t>(out_pixel * c.out.c + k)];
      float* const w = filter.data() + (k * taps + tap) * c.in.c;
      for (std::int64_t channel = 0; channel < c.in.c; ++channel) {
        if (wanted == Wanted::out) y += x[channel] * w[channel];
        if (wanted == Wanted::in_gradient) x[channel] += y * w[channel];
        if (wanted == Wanted::filter_gradient) w[channel] += x[channel] * y;
      }
    }
  });
  const auto finish = [&](std::vector<float>& numbers, void* data, cudnnDataType_t type) {
    for (float& number : numbers) number *= alpha;
    write(numbers, data, type);
  };
  if (wanted == Wanted::out) finish(out, c.out_data, c.out.type);
  if (wanted == Wanted::in_gradient) finish(in, c.in_data, c.in.type);
  if (wanted == Wanted::filter_gradient) finish(filter, c.filter_data, c.filter.type);
}

}  // namespace emulated_cuda::cudnn
