#pragma once

#include <cstdint>

namespace penstock::layers {

/// Norms are FP64 sums over fixed blocks of so many elements of a parameter, so that they do not
/// depend on how the model is cut.
inline constexpr std::int64_t kNormBlock = 65536;

/// Blocks of a parameter of that many elements.
constexpr std::int64_t norm_blocks(std::int64_t elements) {
  return (elements + kNormBlock - 1) / kNormBlock;
}

}  // namespace penstock::layers
