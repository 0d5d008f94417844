#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "configs/alphabet.h"

namespace penstock::runtime {

/// CTC's blank. The alphabet's characters follow from 1, in order.
inline constexpr std::int32_t kBlank = 0;

/// Transcripts as labels and back. A character is a Unicode code point; text is UTF-8.
class Alphabet {
 public:
  /// ConfigError as alphabet_characters().
  explicit Alphabet(const configs::TextConfig& config);

  /// Labels, the blank included: the channels of the model's output.
  int classes() const { return static_cast<int>(characters_.size()) + 1; }

  /// The text with case folded as configured, runs of white space as one space, ends trimmed.
  /// DataError if not UTF-8.
  [[nodiscard]] std::string normalised(std::string_view text) const;

  /// Labels of the normalised text. DataError lists every character that the alphabet lacks.
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const;

  /// Text of labels; blanks are left out. DataError if a label is not one of `classes()`.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> labels) const;

 private:
  std::u32string normalised_characters(std::string_view text) const;

  configs::Fold fold_;
  std::u32string characters_;
  std::unordered_map<char32_t, std::int32_t> labels_;
};

}  // namespace penstock::runtime
