#pragma once

#include <cmath>
#include <cstdint>

namespace penstock::layers {

// Rotary positions (Su et al. 2021), as AttentionGeometry::rotary_base describes them.

/// Returns the angle by which a frame turns channel c of a head of d channels beyond the frame
/// before it.
inline double rotary_step(double base, std::int64_t c, std::int64_t d) {
  return std::pow(base, -2 * static_cast<double>(c) / static_cast<double>(d));
}

/// Turns channels c and c + half of a head against each other, for each c < half. `direction` is 1,
/// or -1 to turn them back.
template <class T>
void turn(T* channels, std::int64_t half, const T* cosines, const T* sines, T direction = 1) {
  for (std::int64_t c = 0; c < half; ++c) {
    const T a = channels[c], b = channels[c + half], sine = direction * sines[c];
    channels[c] = a * cosines[c] - b * sine;
    channels[c + half] = b * cosines[c] + a * sine;
  }
}

}  // namespace penstock::layers
