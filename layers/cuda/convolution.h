#pragma once

#include <cudnn.h>

#include <cstddef>
#include <memory>
#include <span>

#include "layers/cuda/cuda_stream.h"
#include "layers/ops/conv2d.h"
#include "layers/tensor/dtype.h"

namespace penstock::layers::cuda {

/// A convolution of one image, [time][frequency][channel], with a filter [out][time][frequency]
/// [in]; all of one dtype (f32, f16 or bf16), sums in FP32, without TF32.
struct Convolution {
  const Conv2dGeometry& geometry;
  DType dtype;
  std::int64_t in_rows, out_rows;
  void *in, *out, *filter;         // or their gradients
  std::span<std::byte> workspace;  // device memory
};

/// cuDNN, with the first algorithm of its heuristic that repeats its bits and fits the workspace:
/// no timing.
class Convolutions {
 public:
  Convolutions();

  /// out from in. DeviceError naming the shapes where the library refuses, here and below.
  void forward(CudaStream& stream, const Convolution& convolution) const;
  /// The gradient of in from that of out; overwritten.
  void backward_input(CudaStream& stream, const Convolution& convolution) const;
  /// The gradient of the filter from in and the gradient of out; overwritten.
  void backward_filter(CudaStream& stream, const Convolution& convolution) const;

 private:
  struct Destroy {
    void operator()(cudnnHandle_t handle) const { cudnnDestroy(handle); }
  };
  cudnnHandle_t on(CudaStream& stream) const;

  std::unique_ptr<cudnnContext, Destroy> library_;
};

}  // namespace penstock::layers::cuda
