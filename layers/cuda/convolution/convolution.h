#pragma once

#include <cudnn.h>

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "layers/cuda/core/cuda_stream.h"
#include "layers/cuda/core/libraries.h"
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

/// Scale applied to the filter's gradient before it is rounded. In FP16 a sum over all frames,
/// times the loss scale, may exceed 65,504, where FP16 ends. In return, FP16 gradients below 2⁻¹⁶
/// are lost.
inline constexpr float filter_gradient_scale(DType dtype) {
  return dtype == DType::f16 ? 0x1p-8f : 1.0f;
}

/// Runs convolutions by cuDNN, with the first algorithm of its heuristic that is deterministic and
/// fits the workspace. Nothing is timed.
///
/// The heuristic and the workspace sizes are asked once for each geometry, dtype, pass and bucket
/// of rows. An algorithm that refuses to run is not tried again there. If none of cuDNN's
/// algorithms works, a kernel of ours runs. The constructor says how FP32 is multiplied, and cached
/// choices hold for that alone.
class Convolutions {
 public:
  explicit Convolutions(Fp32Products of_fp32);

  /// Computes `out` from `in`. Throws DeviceError with the shapes if cuDNN fails, as the two below
  /// do.
  void forward(CudaStream& stream, const Convolution& convolution);
  /// Computes the gradient of `in` from that of `out`, and overwrites `in`.
  void backward_input(CudaStream& stream, const Convolution& convolution);
  /// Computes the gradient of the filter, times filter_gradient_scale(), from `in` and the gradient
  /// of `out`. Overwrites `filter`.
  void backward_filter(CudaStream& stream, const Convolution& convolution);

 private:
  /// An algorithm by cuDNN's number, its math type, and its workspace in bytes at the bucket's end.
  struct Candidate {
    int algorithm;
    cudnnMathType_t math;
    std::size_t bytes;
  };
  /// Pass, dtype, input rows and all numbers of a geometry but its lengths.
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
