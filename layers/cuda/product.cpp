#include "layers/cuda/product.h"

#include <string>
#include <type_traits>

#include "layers/tensor/error.h"

namespace penstock::cuda {
namespace {

void check(cublasStatus_t status, const std::string& doing) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(doing + ": " + cublasLtGetStatusName(status));
}

std::string describe(const Tensor& matrix) {
  return std::string(name_of(matrix.dtype)) + " [" + std::to_string(matrix.shape.at(0)) + ", " +
         std::to_string(matrix.shape.at(1)) + "]";
}

std::string describe(const Product& product) {
  return "cuBLASLt's product of " + describe(product.a) +
         (product.transpose_a ? " transposed" : "") + " and " + describe(product.b) +
         (product.transpose_b ? " transposed" : "") + " into " + describe(product.d);
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
      throw DeviceError("products on CUDA are of f32, f16 or bf16, not " +
                        std::string(name_of(dtype)));
  }
}

template <class T, cublasStatus_t (*destroy)(T)>
struct DestroyHandle {
  using pointer = T;
  void operator()(T handle) const { destroy(handle); }
};
template <class T, cublasStatus_t (*destroy)(T)>
using Handle = std::unique_ptr<std::remove_pointer_t<T>, DestroyHandle<T, destroy>>;
using Description = Handle<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Handle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Handle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

/// The library's matrices are stored by columns, so that it sees each of ours transposed.
Layout layout_of(const Tensor& matrix) {
  const auto rows = static_cast<std::uint64_t>(matrix.shape.at(0));
  const auto columns = static_cast<std::uint64_t>(matrix.shape.at(1));
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, data_type(matrix.dtype), columns, rows,
                                   static_cast<std::int64_t>(columns)),
        "describing " + describe(matrix));
  return Layout(layout);
}

template <class T>
void set(const Description& description, cublasLtMatmulDescAttributes_t attribute, T value) {
  check(cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof value),
        "describing a product");
}

/// dᵀ = bᵀ · aᵀ.
Description describe_for_library(const Product& product) {
  cublasLtMatmulDesc_t created = nullptr;
  check(cublasLtMatmulDescCreate(&created, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product");
  Description description(created);
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, product.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, product.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (product.bias != nullptr) {
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias->data);
    set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(product.bias->dtype));
  }
  return description;
}

Preference preference() {
  cublasLtMatmulPreference_t created = nullptr;
  check(cublasLtMatmulPreferenceCreate(&created), "choosing an algorithm");
  Preference preference(created);
  const std::size_t bytes = CudaStream::kWorkspaceBytes;
  check(cublasLtMatmulPreferenceSetAttribute(created, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &bytes, sizeof bytes),
        "choosing an algorithm");
  return preference;
}

}  // namespace

Products::Products() {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle), "starting cuBLASLt");
  library_.reset(handle);
}

void Products::run(CudaStream& stream, const Product& product) const {
  if (product.d.size() == 0) return;
  const Description description = describe_for_library(product);
  const Layout a = layout_of(product.b), b = layout_of(product.a), d = layout_of(product.d);
  const Preference limits = preference();
  cublasLtMatmulHeuristicResult_t first{};
  int found = 0;
  check(cublasLtMatmulAlgoGetHeuristic(library_.get(), description.get(), a.get(), b.get(), d.get(),
                                       d.get(), limits.get(), 1, &first, &found),
        "choosing an algorithm for " + describe(product));
  if (found == 0) throw DeviceError(describe(product) + ": no algorithm for this device");
  const float alpha = 1, beta = product.accumulate ? 1 : 0;
  check(cublasLtMatmul(library_.get(), description.get(), &alpha, product.b.data, a.get(),
                       product.a.data, b.get(), &beta, product.d.data, d.get(), product.d.data,
                       d.get(), &first.algo, stream.workspace(), CudaStream::kWorkspaceBytes,
                       stream.handle()),
        describe(product));
}

}  // namespace penstock::cuda
