#include "layers/cpu/convolution/complex8.h"

// Complex products are computed by real FMAs. Real and imaginary parts of eight channels are
// vectors. A term of x + iy in A and u + iv in B is
//   a · b        re += x·u - y·v;  im += y·u + x·v
//   a · conj(b)  re += x·u + y·v;  im += y·u - x·v
// A block of C stays in registers for the whole depth, and is stored once.

namespace penstock::layers {
namespace {

enum class Form { plain, conjugate, transposed_conjugate };

// Returns the real part of number i of a row of groups. The imaginary part lies 8 floats further
// on.
inline const float* number(const Complex8* row, std::int64_t i) {
  return reinterpret_cast<const float*>(row + i / 8) + i % 8;
}

// Computes kRows × kGroups groups of C from row m and group n. Four groups are eight sums: enough
// to keep both FMA units busy, with registers left for the factors.
template <Form kForm, int kRows, int kGroups>
void block(const Complex8Product& p, std::int64_t m, std::int64_t n, bool add) {
  constexpr bool kTransposed = kForm == Form::transposed_conjugate;
  Vector<float> re[kRows][kGroups], im[kRows][kGroups];
  const float* rows[kRows];
  for (int r = 0; r < kRows; ++r) {
    rows[r] = kTransposed ? number(p.a, m + r) : number(p.a + (m + r) * p.a_stride, 0);
    for (int v = 0; v < kGroups; ++v) re[r][v] = im[r][v] = Vector<float>{};
  }
  const Complex8* b = p.b + n;

  const auto step = [&](std::int64_t offset) {
    for (int r = 0; r < kRows; ++r) {
      const float x = rows[r][offset], y = rows[r][offset + 8];
      for (int v = 0; v < kGroups; ++v) {
        re[r][v] += x * b[v].re;
        im[r][v] += y * b[v].re;
        if constexpr (kForm == Form::plain) {
          re[r][v] -= y * b[v].im;
          im[r][v] += x * b[v].im;
        } else {
          re[r][v] += y * b[v].im;
          im[r][v] -= x * b[v].im;
        }
      }
    }
    b += p.b_stride;
  };
  if constexpr (kTransposed) {
    for (std::int64_t k = 0; k < p.k; ++k) step(k * p.a_stride * 16);
  } else {
    for (std::int64_t k = 0; k < p.k / 8; ++k)
      for (int lane = 0; lane < 8; ++lane) step(k * 16 + lane);
    for (std::int64_t lane = 0; lane < p.k % 8; ++lane) step(p.k / 8 * 16 + lane);
  }

  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kGroups; ++v) {
      Complex8& c = p.c[(m + r) * p.c_stride + n + v];
      const Complex8 sum{re[r][v], im[r][v]};
      c = add ? c + sum : sum;
    }
}

// Rows that are too few for a block of kRows go to blocks of one row fewer, down to one.
template <Form kForm, int kRows, int kGroups>
void column(const Complex8Product& p, std::int64_t n, std::int64_t m, bool add) {
  for (; m + kRows <= p.m; m += kRows) block<kForm, kRows, kGroups>(p, m, n, add);
  if constexpr (kRows > 1)
    if (m < p.m) column<kForm, kRows - 1, kGroups>(p, n, m, add);
}

template <Form kForm>
void run(const Complex8Product& p, bool add) {
  std::int64_t n = 0;
  for (; n + 2 <= p.n_groups; n += 2) column<kForm, 2, 2>(p, n, 0, add);
  if (n < p.n_groups) column<kForm, 4, 1>(p, n, 0, add);
}

}  // namespace

void multiply(const Complex8Product& product) { run<Form::plain>(product, false); }

void multiply_by_conjugate(const Complex8Product& product) { run<Form::conjugate>(product, false); }

void multiply_transposed_by_conjugate(const Complex8Product& product, bool add) {
  run<Form::transposed_conjugate>(product, add);
}

}  // namespace penstock::layers
