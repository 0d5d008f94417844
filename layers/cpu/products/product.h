#pragma once

#include <cstdint>

namespace penstock::layers {

/// One factor of a product, row-major. Rows start `stride` numbers apart.
template <class T>
struct Factor {
  const T* data = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;  // op(A) is the transpose of what is stored
};

/// The product C_MN = alpha · op(A)_MK · op(B)_KN + beta · C_MN. If beta is 0, C is not read.
template <class T>
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  Factor<T> a, b;
  T* c = nullptr;
  std::int64_t c_stride = 0;
  T alpha = 1, beta = 0;
};

/// Multiplies by OpenBLAS or oneDNN, whichever was measured to be faster for such shapes on such a
/// CPU. A build without them uses Eigen. Equal shapes always use the same library, so that equal
/// calls give equal bits on one kind of CPU.
void run_product(const Product<float>&);
void run_product(const Product<double>&);

/// Sets the threads of all later products of this process.
void set_product_threads(int threads);

}  // namespace penstock::layers
