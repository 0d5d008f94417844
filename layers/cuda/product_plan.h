#pragma once

#include <cublasLt.h>

#include <memory>
#include <type_traits>

#include "layers/cuda/product.h"

namespace penstock::layers::cuda {

/// cuBLASLt's descriptions of a product's operands, and the algorithm chosen for them.
class ProductPlan {
 public:
  /// DeviceError where the library has no algorithm.
  ProductPlan(cublasLtHandle_t library, const Product& product);

  /// `product` may differ from the one planned for in its addresses and in `accumulate`.
  void run(cublasLtHandle_t library, CudaStream& stream, const Product& product) const;

 private:
  template <class T, cublasStatus_t (*destroy)(T)>
  struct Destroy {
    using pointer = T;
    void operator()(T handle) const { destroy(handle); }
  };
  template <class T, cublasStatus_t (*destroy)(T)>
  using Handle = std::unique_ptr<std::remove_pointer_t<T>, Destroy<T, destroy>>;
  using Description = Handle<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
  using Layout = Handle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
  using Preference = Handle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

  static Layout layout_of(const Matrix& matrix, int batch);
  static Description describe(const Product& product);
  static Preference limits_for(const Product& product);

  Description description_;
  Layout a_, b_, d_;  // the library's, so a_ is of the product's b
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace penstock::layers::cuda
