#pragma once

#include <cstdint>

namespace penstock::layers {

/// Elements of a norm block. Norms are FP64 sums over fixed blocks of a parameter, so they do not
/// depend on how the model is cut.
inline constexpr std::int64_t kNormBlock = 65536;

/// Returns the norm blocks of a parameter with `elements` elements.
constexpr std::int64_t norm_blocks(std::int64_t elements) {
  return (elements + kNormBlock - 1) / kNormBlock;
}

}  // namespace penstock::layers
