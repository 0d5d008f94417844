#pragma once

#include <cstdint>

namespace penstock::layers {

inline constexpr int kCodes = 256;

/// The numbers of 8-bit codes, rising, within [-1, 1] or [0, 1], and the midpoints between adjacent
/// codes.
struct CodeMap {
  float values[kCodes] = {};
  float between[kCodes - 1] = {};
};

/// Returns the dynamic tree map of Dettmers et al. 2022, "8-bit Optimizers via Block-wise
/// Quantization" (arXiv:2110.02861), with the numbers of bitsandbytes. It holds 0 and 1. For each k
/// of 0 … 6, [0.1, 1] is cut into 2^k parts (2^(k+1) in the map without signs). The map holds the
/// middles of these parts times 10^(k-6), with both signs in the map with signs. All of it is
/// computed in FP64 and then rounded.
constexpr CodeMap make_code_map(bool with_signs) {
  CodeMap map;
  int count = with_signs ? kCodes / 2 - 1 : 0;  // index of 0, after the negative numbers
  map.values[count++] = 0;
  const double powers[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};
  for (int k = 0; k < 7; ++k) {
    const int parts = 1 << (with_signs ? k : k + 1);
    for (int part = 0; part < parts; ++part) {
      const auto value = static_cast<float>(powers[k] * (0.1 + 0.9 * (part + 0.5) / parts));
      if (with_signs) map.values[kCodes - 2 - count] = -value;
      map.values[count++] = value;
    }
  }
  map.values[count] = 1;
  for (int code = 0; code + 1 < kCodes; ++code)
    map.between[code] = (map.values[code] + map.values[code + 1]) / 2;
  return map;
}

/// Signed codes serve the mean or a velocity, unsigned ones squares.
inline constexpr CodeMap kSignedCodes = make_code_map(true);
inline constexpr CodeMap kUnsignedCodes = make_code_map(false);

/// Returns the code whose number is nearest to `value`, the lower one of a tie. `between` is
/// CodeMap::between.
constexpr int nearest_code(const float* between, float value) {
  int code = 0;
  for (int half = kCodes / 2; half > 0; half /= 2)
    code += between[code + half - 1] < value ? half : 0;
  return code;
}

/// Does the same for a square, but a positive number never becomes 0, since the step divides by its
/// root: Li et al. 2023, "Memory Efficient Optimizers with 4-bit States" (arXiv:2309.01507), §4.1.
constexpr int nearest_code_of_square(const float* between, float value) {
  const int code = nearest_code(between, value);
  return code == 0 && value > 0 ? 1 : code;
}

}  // namespace penstock::layers
