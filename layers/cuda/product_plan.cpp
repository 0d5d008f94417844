#include "layers/cuda/product_plan.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"

namespace penstock::layers::cuda {
namespace {

void check(cublasStatus_t status, const std::string& doing) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(fmt::format("{}: {}", doing, cublasLtGetStatusName(status)));
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

void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, auto value) {
  check(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
        "describing a product");
}

void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, auto value) {
  check(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value),
        "describing a batch");
}

void set(cublasLtMatmulPreference_t limits, cublasLtMatmulPreferenceAttributes_t attribute,
         auto value) {
  check(cublasLtMatmulPreferenceSetAttribute(limits, attribute, &value, sizeof value),
        "choosing an algorithm");
}

}  // namespace

/// The library's matrices are stored by columns, so that it sees each of ours transposed.
ProductPlan::Layout ProductPlan::layout_of(const Matrix& matrix, int batch) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, data_type(matrix.dtype),
                                   static_cast<std::uint64_t>(matrix.columns),
                                   static_cast<std::uint64_t>(matrix.rows), matrix.lead),
        "describing " + text_of(matrix));
  Layout owned(layout);
  if (batch > 1) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.stride);
  }
  return owned;
}

/// dᵀ = bᵀ · aᵀ.
ProductPlan::Description ProductPlan::describe(const Product& product) {
  cublasLtMatmulDesc_t description = nullptr;
  check(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "describing a product");
  Description owned(description);
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, product.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, product.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (product.bias != nullptr) {
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(product.bias->dtype));
  }
  return owned;
}

/// The library takes addresses to be multiples of 256 unless told otherwise.
ProductPlan::Preference ProductPlan::limits_for(const Product& product) {
  cublasLtMatmulPreference_t limits = nullptr;
  check(cublasLtMatmulPreferenceCreate(&limits), "choosing an algorithm");
  Preference owned(limits);
  set(limits, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, CudaStream::kWorkspaceBytes);
  const auto alignment = [](const Matrix& matrix) {
    return static_cast<std::uint32_t>(matrix.alignment);
  };
  set(limits, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(product.b));
  set(limits, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(product.a));
  set(limits, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(product.d));
  set(limits, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(product.d));
  return owned;
}

ProductPlan::ProductPlan(cublasLtHandle_t library, const Product& product)
    : description_(describe(product)),
      a_(layout_of(product.b, product.batch)),
      b_(layout_of(product.a, product.batch)),
      d_(layout_of(product.d, product.batch)) {
  const Preference limits = limits_for(product);
  cublasLtMatmulHeuristicResult_t first{};
  int found = 0;
  check(cublasLtMatmulAlgoGetHeuristic(library, description_.get(), a_.get(), b_.get(), d_.get(),
                                       d_.get(), limits.get(), 1, &first, &found),
        "choosing an algorithm for " + text_of(product));
  if (found == 0) throw DeviceError(text_of(product) + ": no algorithm for this device");
  algorithm_ = first.algo;
}

void ProductPlan::run(cublasLtHandle_t library, CudaStream& stream, const Product& product) const {
  if (product.bias != nullptr)
    set(description_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias->data);
  const float alpha = 1, beta = product.accumulate ? 1 : 0;
  check(
      cublasLtMatmul(library, description_.get(), &alpha, product.b.data, a_.get(), product.a.data,
                     b_.get(), &beta, product.d.data, d_.get(), product.d.data, d_.get(),
                     &algorithm_, stream.workspace(), CudaStream::kWorkspaceBytes, stream.handle()),
      text_of(product));
}

}  // namespace penstock::layers::cuda
