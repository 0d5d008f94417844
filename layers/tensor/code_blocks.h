#pragma once

#include <cstdint>

namespace penstock::layers {

/// So many elements of a parameter share a scale where an optimizer keeps codes of 8 bits: the size
/// of block that Dettmers' library bitsandbytes has. A norm block is a whole number of them, so
/// that they do not depend on how the model is cut.
inline constexpr std::int64_t kCodeBlock = 256;

/// Code blocks of so many elements of a parameter, from the first of one on.
constexpr std::int64_t code_blocks(std::int64_t elements) {
  return (elements + kCodeBlock - 1) / kCodeBlock;
}

}  // namespace penstock::layers
