#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/text/label.h"

namespace penstock::runtime {

/// Returns tokens.txt as sherpa-onnx reads it: a line "symbol id" for each of `rows` rows of the
/// logits. The blank is <blk>, and "▁" stands for a space. Labels without a text keep their written
/// form, and rows beyond the labels are symbols such as <29>.
[[nodiscard]] std::string token_lines(std::span<const Label> vocabulary, std::int64_t rows);

}  // namespace penstock::runtime
