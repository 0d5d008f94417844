#include "layers/cpu/convolution/fft8.h"

#include <cmath>
#include <numbers>

namespace penstock::layers {
namespace {

// One pass of Stockham's self-sorting transform, which needs no bit reversal. It transforms `s`
// interleaved sub-transforms of length `n` by butterflies of a fixed radix r. With m = n / r, for q
// < s, p < m, k < r:
//   out[q + s·(r·p + k)] =
//       exp(-2πi·p·k / n) · sum over j < r of in[q + s·(p + m·j)] · exp(-2πi·j·k / r)
// `roots` are those of the whole length n·s.
struct Pass {
  std::int64_t n, s;
  const Complex8* in;
  std::int64_t in_stride;
  Complex8* out;
  std::int64_t out_stride;
  const std::complex<float>* roots;
};

template <bool kInverse>
Complex8 rotated(const Complex8& a) {  // a quarter turn: times -i, or i for the inverse
  return kInverse ? Complex8{-a.im, a.re} : Complex8{a.im, -a.re};
}

// Sets v[k] = sum over j of v[j] · exp(-2πi·j·k / kRadix), or with +2πi for the inverse.
template <bool kInverse, int kRadix>
inline void butterfly(Complex8 (&v)[kRadix]) {
  if constexpr (kRadix == 2) {
    const Complex8 a = v[0];
    v[0] = a + v[1];
    v[1] = a - v[1];
  } else if constexpr (kRadix == 3) {
    constexpr float kHalfRootOf3 = 0.866025403784438647f;
    const Complex8 sum = v[1] + v[2], difference = v[1] - v[2];
    const Complex8 side = rotated<kInverse>(times(difference, kHalfRootOf3, 0));
    const Complex8 middle = v[0] - times(sum, 0.5f, 0);
    v[0] = v[0] + sum;
    v[1] = middle + side;
    v[2] = middle - side;
  } else {
    const Complex8 even = v[0] + v[2], odd = v[1] + v[3];
    const Complex8 even_less = v[0] - v[2], odd_less = rotated<kInverse>(v[1] - v[3]);
    v[0] = even + odd;
    v[1] = even_less + odd_less;
    v[2] = even - odd;
    v[3] = even_less - odd_less;
  }
}

template <bool kInverse, int kRadix, bool kTwiddle>
inline void butterflies(const Pass& pass, std::int64_t p) {
  const std::int64_t m = pass.n / kRadix;
  std::complex<float> w[kRadix];
  if constexpr (kTwiddle)
    for (int k = 1; k < kRadix; ++k) w[k] = pass.roots[p * k * pass.s];
  const Complex8* in = pass.in + pass.s * p * pass.in_stride;
  Complex8* out = pass.out + pass.s * kRadix * p * pass.out_stride;
  for (std::int64_t q = 0; q < pass.s; ++q) {
    Complex8 v[kRadix];
    for (int k = 0; k < kRadix; ++k) v[k] = in[(q + pass.s * m * k) * pass.in_stride];
    butterfly<kInverse>(v);
    out[q * pass.out_stride] = v[0];
    for (int k = 1; k < kRadix; ++k) {
      if constexpr (kTwiddle)
        v[k] = times(v[k], w[k].real(), kInverse ? -w[k].imag() : w[k].imag());
      out[(q + pass.s * k) * pass.out_stride] = v[k];
    }
  }
}

template <bool kInverse, int kRadix>
void run_pass(const Pass& pass) {
  butterflies<kInverse, kRadix, false>(pass, 0);
  for (std::int64_t p = 1; p < pass.n / kRadix; ++p) butterflies<kInverse, kRadix, true>(pass, p);
}

template <bool kInverse>
void transform(const std::vector<int>& radices, Pass pass) {
  Complex8 between[2][Fft8::kLongest];
  Complex8* const out = pass.out;
  const std::int64_t out_stride = pass.out_stride;
  // n · s is the length. pass.in holds s interleaved sequences of n numbers: number k of the whole
  // transform is number (k - q) / s of the transform of sequence q = k mod s.
  for (std::size_t i = 0; i < radices.size(); ++i) {
    const bool last = i + 1 == radices.size();
    pass.out = last ? out : between[i % 2];
    pass.out_stride = last ? out_stride : 1;
    if (radices[i] == 4)
      run_pass<kInverse, 4>(pass);
    else if (radices[i] == 3)
      run_pass<kInverse, 3>(pass);
    else
      run_pass<kInverse, 2>(pass);
    pass.n /= radices[i];
    pass.s *= radices[i];
    pass.in = pass.out;
    pass.in_stride = 1;
  }
}

}  // namespace

std::int64_t Fft8::length_for(std::int64_t count) {
  for (std::int64_t length = 4; length <= kLongest; length *= 2) {
    if (length >= count) return length;
    if (length / 2 * 3 >= count && length / 2 * 3 <= kLongest) return length / 2 * 3;
  }
  return 0;
}

Fft8::Fft8(std::int64_t length) : length_(length) {
  std::int64_t rest = length;
  for (; rest % 4 == 0; rest /= 4) radices_.push_back(4);
  if (rest % 2 == 0) radices_.push_back(2);
  if (rest % 3 == 0) radices_.push_back(3);
  for (std::int64_t k = 0; k < length; ++k) {
    const double angle =
        -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
    roots_.emplace_back(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
  }
}

void Fft8::forward(const Complex8* in, std::int64_t in_stride, Complex8* out,
                   std::int64_t out_stride) const {
  transform<false>(radices_, {length_, 1, in, in_stride, out, out_stride, roots_.data()});
}

void Fft8::inverse(const Complex8* in, std::int64_t in_stride, Complex8* out,
                   std::int64_t out_stride) const {
  transform<true>(radices_, {length_, 1, in, in_stride, out, out_stride, roots_.data()});
}

}  // namespace penstock::layers
