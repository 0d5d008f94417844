#pragma once

#include <cstdint>

#include "layers/cpu/convolution/complex8.h"

namespace penstock::layers {

/// The complex product C_MN = A_MK · B_KN, with N in whole groups of 8. Strides count groups
/// between rows.
struct Complex8Product {
  std::int64_t m = 0, k = 0, n_groups = 0;
  const Complex8* a = nullptr;  // rows of M with groups of K, or rows of K with groups of M
  std::int64_t a_stride = 0;
  const Complex8* b = nullptr;
  std::int64_t b_stride = 0;
  Complex8* c = nullptr;
  std::int64_t c_stride = 0;
};

/// Sets C = A · B. The rows of A are M.
void multiply(const Complex8Product&);
/// Sets C = A · conj(B). The rows of A are M.
void multiply_by_conjugate(const Complex8Product&);
/// Sets C_mn = sum over k of A_km · conj(B_kn), or adds it to C if `add`. The rows of A are K.
void multiply_transposed_by_conjugate(const Complex8Product&, bool add);

}  // namespace penstock::layers
