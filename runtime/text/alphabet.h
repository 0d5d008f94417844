#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "configs/text_rules.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// A tokenizer whose labels are the characters of text.alphabet, numbered from 1 in order. A
/// character is a Unicode code point.
class Alphabet : public Tokenizer {
 public:
  /// Throws ConfigError like alphabet_characters().
  explicit Alphabet(const configs::TextConfig& config);

  int labels() const override { return static_cast<int>(characters_.size()) + 1; }
  std::vector<Label> vocabulary() const override;
  std::string normalised(std::string_view text) const override;
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> labels) const override;
  std::string_view model() const override { return {}; }

 private:
  configs::TextRules rules_;
  std::u32string characters_;
  std::unordered_map<char32_t, std::int32_t> labels_;
};

}  // namespace penstock::runtime
