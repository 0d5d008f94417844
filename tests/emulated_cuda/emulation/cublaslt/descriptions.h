#pragma once

#include <cublasLt.h>

#include <array>
#include <cstdint>

namespace emulated_cuda::cublaslt {

// cuBLASLt's opaque handles point to these structs. Matrices are stored by columns.

struct Layout : cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t lead;  // elements from one column to the next
  std::int32_t batch = 1;
  std::int64_t stride = 0;  // elements from one matrix of the batch to the next
};

struct Description : cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  std::int32_t bias_type = -1;  // as D's
};

struct Preference : cublasLtMatmulPreferenceOpaque_t {
  std::uint64_t workspace_bytes = 0;
  std::array<std::uint32_t, 4> alignment = {256, 256, 256, 256};  // of A, B, C, D
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
};

inline const Layout& of(cublasLtMatrixLayout_t handle) { return *static_cast<Layout*>(handle); }
inline const Description& of(cublasLtMatmulDesc_t handle) {
  return *static_cast<Description*>(handle);
}
inline const Preference& of(cublasLtMatmulPreference_t handle) {
  return *static_cast<Preference*>(handle);
}

}  // namespace emulated_cuda::cublaslt
