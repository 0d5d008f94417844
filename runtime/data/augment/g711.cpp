#include "runtime/data/augment/g711.h"

#include <algorithm>
#include <bit>

// G.711 approximates a logarithm by segments, each twice as wide as the one before it, of 16 equal
// steps. A sample becomes the middle of its step. Mu-law takes 14 bits and adds 33, so that the
// segment follows from the highest bit; A-law takes 13 bits, and its first two segments have steps
// of the same width.

namespace penstock::runtime {
namespace {

/// Returns the place of the highest bit, counted from 0.
int highest_bit(int magnitude) { return std::bit_width(static_cast<unsigned>(magnitude)) - 1; }

}  // namespace

std::int16_t through_mulaw(std::int16_t sample) {
  constexpr int kBias = 33, kLargest = 8158;
  const int linear = sample >> 2;
  const int biased = std::min(linear < 0 ? -linear : linear, kLargest) + kBias;
  const int segment = highest_bit(biased) - 5;
  const int step = (biased >> (segment + 1)) & 15;
  const int decoded = (((step << 3) + 4 * kBias) << segment) - 4 * kBias;
  return static_cast<std::int16_t>(linear < 0 ? -decoded : decoded);
}

std::int16_t through_alaw(std::int16_t sample) {
  const int linear = sample >> 3;
  const int magnitude = linear < 0 ? -linear - 1 : linear;
  const int segment = std::max(highest_bit(std::max(magnitude, 1)) - 4, 0);
  const int step = (magnitude >> std::max(segment, 1)) & 15;
  const int middle = (step << 4) + 8;
  const int decoded = segment == 0 ? middle : (middle + 256) << (segment - 1);
  return static_cast<std::int16_t>(linear < 0 ? -decoded : decoded);
}

}  // namespace penstock::runtime
