#pragma once

#include <cstdint>

#include "layers/cpu/convolution/octet.h"

namespace penstock {

/// C_MN = A_MK · B_KN of complex numbers, N in whole octets. Strides in octets from row to row.
struct OctetProduct {
  std::int64_t m = 0, k = 0, n_octets = 0;
  const Octet* a = nullptr;  // rows of M with octets of K, or rows of K with octets of M
  std::int64_t a_stride = 0;
  const Octet* b = nullptr;
  std::int64_t b_stride = 0;
  Octet* c = nullptr;
  std::int64_t c_stride = 0;
};

/// A's rows are M.
void multiply(const OctetProduct&);
/// The same with the conjugate of B.
void multiply_by_conjugate(const OctetProduct&);
/// A's rows are K, and B is conjugated: C_mn = sum over k of A_km · conj(B_kn). With `add` to C.
void multiply_transposed_by_conjugate(const OctetProduct&, bool add);

}  // namespace penstock
