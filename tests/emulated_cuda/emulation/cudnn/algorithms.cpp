// cuDNN: which algorithms there are for a convolution.
#include "tests/emulated_cuda/emulation/cudnn/algorithms.h"

namespace emulated_cuda::cudnn {
namespace {

/// Tensor cores read 16 bytes of channels at a time.
bool suits_tensor_cores(const Convolution& c) {
  const int channels = static_cast<int>(16 / size_of(c.in.type));
  return c.in.c % channels == 0 && c.out.c % channels == 0;
}

}  // namespace

/// bf16 is multiplied by tensor cores alone. FP32 by them is TF32; CUDNN_DEFAULT_MATH allows that.
bool exists(cudnnDataType_t type, cudnnMathType_t math) {
  switch (math) {
    case CUDNN_FMA_MATH:
      return type == CUDNN_DATA_FLOAT;
    case CUDNN_TENSOR_OP_MATH:
      return true;
    case CUDNN_DEFAULT_MATH:
      return type != CUDNN_DATA_BFLOAT16;
    default:
      return false;
  }
}

std::vector<cudnnMathType_t> listed_math(const Convolution& c) {
  const cudnnMathType_t math = c.how.math;
  std::vector<cudnnMathType_t> listed;
  if (c.how.pad_h >= c.filter.h || c.how.pad_w >= c.filter.w) return listed;
  const bool tensor_cores =
      math == CUDNN_TENSOR_OP_MATH || (math == CUDNN_DEFAULT_MATH && c.in.type == CUDNN_DATA_FLOAT);
  if (tensor_cores && suits_tensor_cores(c)) listed.push_back(CUDNN_TENSOR_OP_MATH);
  if (c.in.type == CUDNN_DATA_FLOAT) listed.push_back(CUDNN_FMA_MATH);
  if (c.in.type == CUDNN_DATA_HALF) listed.push_back(CUDNN_DEFAULT_MATH);
  return listed;
}

}  // namespace emulated_cuda::cudnn
