#pragma once

#include <cudnn.h>

#include <cstddef>

// cuDNN's opaque handles point to these structs, whose names are cuDNN's.

struct cudnnContext {
  int device;
  cudaStream_t stream;
};

struct cudnnTensorStruct {
  cudnnTensorFormat_t format;
  cudnnDataType_t type;
  int n, c, h, w;
};

struct cudnnFilterStruct {
  cudnnTensorFormat_t format;
  cudnnDataType_t type;
  int k, c, h, w;
};

struct cudnnConvolutionStruct {
  int pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w;
  cudnnConvolutionMode_t mode;
  cudnnDataType_t compute;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

namespace emulated_cuda::cudnn {

inline std::size_t numbers_in(const cudnnTensorStruct& t) {
  return static_cast<std::size_t>(t.n) * static_cast<std::size_t>(t.c) *
         static_cast<std::size_t>(t.h) * static_cast<std::size_t>(t.w);
}
inline std::size_t numbers_in(const cudnnFilterStruct& f) {
  return static_cast<std::size_t>(f.k) * static_cast<std::size_t>(f.c) *
         static_cast<std::size_t>(f.h) * static_cast<std::size_t>(f.w);
}
inline std::size_t size_of(cudnnDataType_t type) { return type == CUDNN_DATA_FLOAT ? 4 : 2; }

}  // namespace emulated_cuda::cudnn
