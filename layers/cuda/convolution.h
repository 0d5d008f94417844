#pragma once

#include <cudnn.h>

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "layers/cuda/cuda_stream.h"
#include "layers/cuda/libraries.h"
#include "layers/ops/conv2d.h"
#include "layers/tensor/dtype.h"

namespace penstock::layers::cuda {

class ConvolutionDescription;

/// A convolution of one image, [time][frequency][channel], with a filter [out][time][frequency]
/// [in]; all of one dtype (f32, f16 or bf16), sums in FP32.
struct Convolution {
  const Conv2dGeometry& geometry;
  DType dtype;
  std::int64_t in_rows, out_rows;
  void *in, *out, *filter;         // or their gradients
  std::span<std::byte> workspace;  // device memory
};

/// What the filter's gradient is multiplied by before it is rounded: a sum over all frames, under a
/// loss scale, may lie beyond 65,504, where FP16 ends. Below 2⁻¹⁶ it is lost instead.
inline constexpr float filter_gradient_scale(DType dtype) {
  return dtype == DType::f16 ? 0x1p-8f : 1.0f;
}

/// cuDNN, with the first algorithm of its heuristic that repeats its bits and fits the workspace:
/// no timing. The heuristic and the workspaces are asked once for a geometry, dtype, pass and
/// bucket of rows, and what refuses to run is not tried again there. Where none of its algorithms
/// will do, a kernel of ours runs. FP32 is multiplied as the object was told to; its choices are of
/// that alone.
class Convolutions {
 public:
  explicit Convolutions(Fp32Products of_fp32);

  /// out from in. DeviceError naming the shapes where the library fails, here and below.
  void forward(CudaStream& stream, const Convolution& convolution);
  /// The gradient of in from that of out; overwritten.
  void backward_input(CudaStream& stream, const Convolution& convolution);
  /// The gradient of the filter, times filter_gradient_scale(), from in and the gradient of out;
  /// overwritten.
  void backward_filter(CudaStream& stream, const Convolution& convolution);

 private:
  /// cuDNN's number of an algorithm of a pass, the math type that it stands for, and its workspace
  /// at the end of the bucket.
  struct Candidate {
    int algorithm;
    cudnnMathType_t math;
    std::size_t bytes;
  };
  /// Pass, dtype, in rows and all numbers of a geometry but its lengths.
  using Key = std::array<std::int64_t, 12>;

  static Key key_of(int pass, const Convolution& convolution);
  template <class Pass>
  std::vector<Candidate> ask(const Convolution& convolution) const;
  template <class Pass>
  std::vector<Candidate>& candidates_for(const Convolution& convolution);
  template <class Pass>
  bool lacks_workspace(const ConvolutionDescription& of, const Convolution& convolution,
                       int algorithm) const;
  template <class Pass>
  void run(CudaStream& stream, const Convolution& convolution);

  Fp32Products of_fp32_;
  Cudnn library_;
  std::map<Key, std::vector<Candidate>> candidates_;  // the fastest first
};

}  // namespace penstock::layers::cuda
