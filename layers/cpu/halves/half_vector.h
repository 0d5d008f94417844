#pragma once

#include <immintrin.h>

#include <cstdint>

#include "layers/tensor/dtype.h"

namespace penstock::layers {

/// Load or store eight f16 or bf16 numbers. Rounding is to nearest, ties to even, as to_half and
/// to_bfloat16 do it for one number.
inline __m256 load8(const Half* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

inline void store8(Half* to, __m256 values) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

inline __m256 load8(const BFloat16* from) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

inline void store8(BFloat16* to, __m256 values) {
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i nearest = _mm256_srli_epi32(
      _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  // Rounding could turn a NaN into an infinity. So a NaN is truncated and made quiet instead.
  const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  const __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
  const __m256i words = _mm256_blendv_epi8(nearest, quiet, _mm256_castps_si256(is_nan));
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(to),
      _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}

inline __m256 load8(const float* from) { return _mm256_loadu_ps(from); }
inline void store8(float* to, __m256 values) { _mm256_storeu_ps(to, values); }

inline float widened(float value) { return value; }
inline float widened(Half value) { return to_float(value); }
inline float widened(BFloat16 value) { return to_float(value); }
inline void round_to(float& to, float value) { to = value; }
inline void round_to(Half& to, float value) { to = to_half(value); }
inline void round_to(BFloat16& to, float value) { to = to_bfloat16(value); }

/// Converts `count` numbers, eight at a time and then one by one.
template <class From, class To>
void convert8(const From* from, To* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) store8(to + i, load8(from + i));
  for (; i < count; ++i) round_to(to[i], widened(from[i]));
}

}  // namespace penstock::layers
