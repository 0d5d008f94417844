#pragma once

#include "tests/emulated_cuda/emulation/cublaslt/descriptions.h"

namespace emulated_cuda::cublaslt {

/// D = alpha · op(A) · op(B) + beta · C (+ bias, one for each row), of a batch.
struct Product {
  Layout a, b, c, d;
  Description description;
  float alpha = 1, beta = 0;
  const void *a_data = nullptr, *b_data = nullptr, *c_data = nullptr;
  void* d_data = nullptr;
  bool parts_as_stored = false;  // parts of a sum have D's type
};

/// Whether shapes, leading dimensions and types are such as cuBLASLt takes; else its error.
cublasStatus_t check_shapes(const Product& product);

/// Runs as one operation of a stream. It adds up in FP32, in the order of the inner dimension, or,
/// of parts as stored, of two halves of it. Where D's columns have an odd number of elements, a sum
/// is rounded before the bias is added, as cuBLASLt 13.1 does in bf16 on an H100.
void compute(const Product& product);

std::size_t size_of(cudaDataType_t type);
/// From the first to the last element of the whole batch, in bytes.
std::size_t extent_of(const Layout& layout);

}  // namespace emulated_cuda::cublaslt
