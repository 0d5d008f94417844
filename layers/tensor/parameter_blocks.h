#pragma once

#include <cstdint>

namespace penstock::layers {

// Parameters are divided into blocks of fixed sizes, so that norms and scales do not depend on how
// a model is cut.

/// Elements of a norm block. Norms are FP64 sums over fixed blocks of a parameter, so they do not
/// depend on how the model is cut.
inline constexpr std::int64_t kNormBlock = 65536;

/// Returns the norm blocks of a parameter with `elements` elements.
constexpr std::int64_t norm_blocks(std::int64_t elements) {
  return (elements + kNormBlock - 1) / kNormBlock;
}

/// Elements of a parameter that share a scale if an optimizer keeps 8-bit codes: the block size of
/// Dettmers' library bitsandbytes. A norm block is a whole number of code blocks, so they do not
/// depend on how the model is cut.
inline constexpr std::int64_t kCodeBlock = 256;

/// Returns the code blocks of `elements` elements of a parameter, counted from the start of a
/// block.
constexpr std::int64_t code_blocks(std::int64_t elements) {
  return (elements + kCodeBlock - 1) / kCodeBlock;
}

}  // namespace penstock::layers
