#pragma once

#include <cublasLt.h>

#include <array>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "layers/cuda/products/product.h"

namespace penstock::layers::cuda {

/// cuBLASLt's descriptors of a product's operands, and the algorithms that its heuristic lists for
/// them.
class ProductPlan {
 public:
  /// Asks the heuristic. Throws DeviceError if it fails. If it has no algorithm, empty() is true.
  ProductPlan(cublasLtHandle_t library, const Product& product, Fp32Products of_fp32);

  bool empty() const { return algorithms_.empty(); }
  /// Returns true if one of the algorithms fits `product`; run() then takes the first that does.
  /// `product` may differ from the planned one in rows, strides, addresses and `accumulate`.
  [[nodiscard]] bool take(cublasLtHandle_t library, const Product& product);
  void run(cublasLtHandle_t library, CudaStream& stream, const Product& product) const;

  /// Returns the heuristic's full answer for the planned product, whose entries may have failed.
  std::span<const cublasLtMatmulHeuristicResult_t> results() const { return results_; }
  /// Runs the planned product by one of these results, whose state must be success.
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

  /// The sizes that may differ between calls of take(): rows of `a`, and the batch strides.
  using Sizes = std::array<std::int64_t, 4>;

  static Sizes sizes_of(const Product& product);
  static Layout layout_of(const Matrix& matrix, int batch);
  static Description describe(const Product& product, Fp32Products of_fp32);
  static Preference limits_for(const Product& product);

  Description description_;
  Layout a_, b_, d_;  // in cuBLASLt's sense: a_ describes the product's b
  std::vector<cublasLtMatmulHeuristicResult_t> results_;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;  // the successful ones of these
  Sizes taken_;                                   // sizes that the layouts have
  std::size_t chosen_ = 0;  // index of the algorithm for these sizes; algorithms_.size(): none
};

}  // namespace penstock::layers::cuda
