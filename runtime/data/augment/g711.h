#pragma once

#include <cstdint>

namespace penstock::runtime {

/// Returns what ITU-T G.711 leaves of a 16-bit sample, by the mu-law of North America and Japan:
/// the sign, a segment of 3 bits and a step of 4 bits within it.
[[nodiscard]] std::int16_t through_mulaw(std::int16_t sample);

/// The same by the A-law of the rest of the world.
[[nodiscard]] std::int16_t through_alaw(std::int16_t sample);

}  // namespace penstock::runtime
