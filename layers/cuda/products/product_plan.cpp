#include "layers/cuda/products/product_plan.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"

// A plan serves all products of one bucket of row counts:
//   1. It describes the operands to cuBLASLt. cuBLASLt stores by columns and ours lie by rows, so
//      it is told dᵀ = bᵀ · aᵀ, and `a_` describes the product's b.
//   2. It asks the heuristic for some algorithms, for the row count at the bucket's end.
//   3. take() puts the sizes of a product into the layouts, and chooses the first algorithm that
//      cublasLtMatmulAlgoCheck() accepts for them. Equal sizes as before skip this.
//   4. run() multiplies by that algorithm.
// The choice follows from sizes alone and never from timings, so equal products give equal bits.

namespace penstock::layers::cuda {
namespace {

/// Algorithms to ask for: more than one, in case that some do not fit other rows of the bucket.
constexpr int kMaxAlgorithms = 8;

/// Throws DeviceError unless `status` is success. `doing()` returns the text, and is called only on
/// an error, because products are frequent.
template <class Doing>
void check(cublasStatus_t status, Doing doing) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(fmt::format("{}: {}", doing(), cublasLtGetStatusName(status)));
}

std::string text_of(const Matrix& matrix) {
  return fmt::format("{} [{}, {}]", name_of(matrix.dtype), matrix.rows, matrix.columns);
}

std::string text_of(const Product& product) {
  return fmt::format("cuBLASLt's product of {}{} and {}{} into {}{}", text_of(product.a),
                     product.transpose_a ? " transposed" : "", text_of(product.b),
                     product.transpose_b ? " transposed" : "", text_of(product.d),
                     product.batch == 1 ? "" : fmt::format(", {} at once", product.batch));
}

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return CUDA_R_32F;
    case DType::f16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    default:
      throw DeviceError(
          fmt::format("products on CUDA are of f32, f16 or bf16, not {}", name_of(dtype)));
  }
}

cublasComputeType_t compute_type(DType dtype, Fp32Products of_fp32) {
  return dtype == DType::f32 && of_fp32 == Fp32Products::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                              : CUBLAS_COMPUTE_32F;
}

void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, auto value) {
  check(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
        [] { return "describing a product"; });
}

void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, auto value) {
  check(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value),
        [] { return "describing a matrix"; });
}

void set(cublasLtMatmulPreference_t limits, cublasLtMatmulPreferenceAttributes_t attribute,
         auto value) {
  check(cublasLtMatmulPreferenceSetAttribute(limits, attribute, &value, sizeof value),
        [] { return "choosing an algorithm"; });
}

}  // namespace

/// Describes a matrix to cuBLASLt, which stores by columns and so sees each of ours transposed.
ProductPlan::Layout ProductPlan::layout_of(const Matrix& matrix, int batch) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, data_type(matrix.dtype),
                                   static_cast<std::uint64_t>(matrix.columns),
                                   static_cast<std::uint64_t>(matrix.rows), matrix.lead),
        [&] { return "describing " + text_of(matrix); });
  Layout owned(layout);
  if (batch > 1) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.stride);
  }
  return owned;
}

/// Describes the product as dᵀ = bᵀ · aᵀ, because cuBLASLt sees each matrix transposed.
ProductPlan::Description ProductPlan::describe(const Product& product, Fp32Products of_fp32) {
  cublasLtMatmulDesc_t description = nullptr;
  check(cublasLtMatmulDescCreate(&description, compute_type(product.a.dtype, of_fp32), CUDA_R_32F),
        [] { return "describing a product"; });
  Description owned(description);
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, product.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, product.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (product.bias != nullptr) {
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(product.bias->dtype));
    // The heuristic treats a bias at a null address as no bias.
    set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias->data);
  }
  return owned;
}

/// Returns the limits for the heuristic. cuBLASLt assumes addresses that are multiples of 256
/// unless they say otherwise.
ProductPlan::Preference ProductPlan::limits_for(const Product& product) {
  cublasLtMatmulPreference_t limits = nullptr;
  check(cublasLtMatmulPreferenceCreate(&limits), [] { return "choosing an algorithm"; });
  Preference owned(limits);
  set(limits, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, CudaStream::kWorkspaceBytes);
  // Parts of a sum must be added up in FP32, not in the 16 bits of the result.
  if (product.d.dtype != DType::f32)
    set(limits, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  const auto alignment = [](const Matrix& matrix) {
    return static_cast<std::uint32_t>(matrix.alignment);
  };
  set(limits, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(product.b));
  set(limits, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(product.a));
  set(limits, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(product.d));
  set(limits, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(product.d));
  return owned;
}

ProductPlan::Sizes ProductPlan::sizes_of(const Product& product) {
  return {product.a.rows, product.a.stride, product.b.stride, product.d.stride};
}

ProductPlan::ProductPlan(cublasLtHandle_t library, const Product& product, Fp32Products of_fp32)
    : description_(describe(product, of_fp32)),
      a_(layout_of(product.b, product.batch)),
      b_(layout_of(product.a, product.batch)),
      d_(layout_of(product.d, product.batch)),
      taken_(sizes_of(product)) {
  const Preference limits = limits_for(product);
  std::array<cublasLtMatmulHeuristicResult_t, kMaxAlgorithms> results{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      library, description_.get(), a_.get(), b_.get(), d_.get(), d_.get(), limits.get(),
      kMaxAlgorithms, results.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return;
  check(status, [&] { return "choosing an algorithm for " + text_of(product); });
  results_.assign(results.begin(), results.begin() + found);
  for (int i = 0; i < found; ++i)
    if (results[i].state == CUBLAS_STATUS_SUCCESS) algorithms_.push_back(results[i].algo);
}

bool ProductPlan::take(cublasLtHandle_t library, const Product& product) {
  const auto adapt = [&](const Layout& layout, const Matrix& matrix) {
    set(layout.get(), CUBLASLT_MATRIX_LAYOUT_COLS, static_cast<std::uint64_t>(matrix.rows));
    set(layout.get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.stride);
  };
  if (sizes_of(product) != taken_) {
    taken_ = sizes_of(product);
    adapt(a_, product.b);
    adapt(b_, product.a);
    adapt(d_, product.d);
    for (chosen_ = 0; chosen_ < algorithms_.size(); ++chosen_) {
      cublasLtMatmulHeuristicResult_t result{};
      if (cublasLtMatmulAlgoCheck(library, description_.get(), a_.get(), b_.get(), d_.get(),
                                  d_.get(), &algorithms_[chosen_],
                                  &result) == CUBLAS_STATUS_SUCCESS &&
          result.workspaceSize <= CudaStream::kWorkspaceBytes)
        break;
    }
  }
  return chosen_ < algorithms_.size();
}

void ProductPlan::run(cublasLtHandle_t library, CudaStream& stream, const Product& product) const {
  run_by(algorithms_[chosen_], library, stream, product);
}

void ProductPlan::run_by(const cublasLtMatmulAlgo_t& algorithm, cublasLtHandle_t library,
                         CudaStream& stream, const Product& product) const {
  if (product.bias != nullptr)
    set(description_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias->data);
  const float alpha = 1, beta = product.accumulate ? 1 : 0;
  check(
      cublasLtMatmul(library, description_.get(), &alpha, product.b.data, a_.get(), product.a.data,
                     b_.get(), &beta, product.d.data, d_.get(), product.d.data, d_.get(),
                     &algorithm, stream.workspace(), CudaStream::kWorkspaceBytes, stream.handle()),
      [&] { return text_of(product); });
}

}  // namespace penstock::layers::cuda
