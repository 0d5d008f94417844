#pragma once

#include <cublasLt.h>

#include <array>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "layers/cuda/product.h"

namespace penstock::layers::cuda {

/// cuBLASLt's descriptions of a product's operands, and the algorithms that it names for them.
class ProductPlan {
 public:
  /// Asks the heuristic. DeviceError where it fails; that it has no algorithm is no failure.
  ProductPlan(cublasLtHandle_t library, const Product& product, Fp32Products of_fp32);

  bool empty() const { return algorithms_.empty(); }
  /// Whether one of the algorithms holds for `product`; run() takes the first that does. It may
  /// differ from the one planned for in rows, strides, addresses and `accumulate`.
  [[nodiscard]] bool take(cublasLtHandle_t library, const Product& product);
  void run(cublasLtHandle_t library, CudaStream& stream, const Product& product) const;

  /// All that the heuristic said of the product planned for, of which algorithms some may be none.
  std::span<const cublasLtMatmulHeuristicResult_t> results() const { return results_; }
  /// By one of these whose state is success, for the product planned for.
  void run_by(const cublasLtMatmulAlgo_t& algorithm, cublasLtHandle_t library, CudaStream& stream,
              const Product& product) const;

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

  /// What take() may find changed: the rows of `a`, and how far apart the matrices of a batch lie.
  using Sizes = std::array<std::int64_t, 4>;

  static Sizes sizes_of(const Product& product);
  static Layout layout_of(const Matrix& matrix, int batch);
  static Description describe(const Product& product, Fp32Products of_fp32);
  static Preference limits_for(const Product& product);

  Description description_;
  Layout a_, b_, d_;  // the library's, so a_ is of the product's b
  std::vector<cublasLtMatmulHeuristicResult_t> results_;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;  // of these, those that are some
  Sizes taken_;                                   // as the layouts have them
  std::size_t chosen_ = 0;  // of the algorithms, for these sizes; behind the last: none
};

}  // namespace penstock::layers::cuda
