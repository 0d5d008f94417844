#pragma once

#include <cstdint>

namespace penstock::layers {

/// One factor of a product: row-major, `stride` numbers from row to row.
template <class T>
struct Factor {
  const T* data = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;  // op(A) is the transpose of what is stored
};

/// C_MN = alpha · op(A)_MK · op(B)_KN + beta · C_MN. With beta 0 what C held is not read.
template <class T>
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  Factor<T> a, b;
  T* c = nullptr;
  std::int64_t c_stride = 0;
  T alpha = 1, beta = 0;
};

/// By OpenBLAS or oneDNN, whichever was measured faster for such shapes on such a CPU, or by Eigen
/// in a build without them; the same shape always goes the same way, so equal calls give equal bits
/// on one kind of CPU.
void run_product(const Product<float>&);
void run_product(const Product<double>&);

/// Of all products of this process from now on.
void set_product_threads(int threads);

}  // namespace penstock::layers
