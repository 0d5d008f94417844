#pragma once

#include <cublasLt.h>

#include <memory>

#include "layers/cuda/cuda_stream.h"
#include "layers/tensor/tensor.h"

namespace penstock::cuda {

/// d = a · b, or d += a · b: matrices as stored are [rows, columns], a or b is transposed first
/// where it says so. f32, or f16 or bf16 with sums in FP32; `d` may then be f32.
struct Product {
  const Tensor& a;
  const Tensor& b;
  const Tensor& d;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  const Tensor* bias = nullptr;  // one for each column of d, added to every row; as d's dtype
};

/// cuBLASLt, with the algorithm that its heuristic names first for a shape: no timing, so that
/// equal shapes give equal bits. FP32 products do not use TF32.
class Products {
 public:
  Products();
  /// DeviceError naming shapes and dtypes where the library refuses.
  void run(CudaStream& stream, const Product& product) const;

 private:
  struct Destroy {
    void operator()(cublasLtHandle_t handle) const { cublasLtDestroy(handle); }
  };
  std::unique_ptr<cublasLtContext, Destroy> library_;
};

}  // namespace penstock::cuda
