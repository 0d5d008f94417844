#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"

namespace penstock::runtime {

/// CTC's blank. What the text is made of follows from 1, in order.
inline constexpr std::int32_t kBlank = 0;

/// Transcripts as labels and back. Text is UTF-8.
class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  /// The number of labels, the blank included.
  [[nodiscard]] virtual int labels() const = 0;

  /// The text as a perfect recogniser would give it: folded_text(), and what else the labels can't
  /// tell apart. DataError if not UTF-8.
  [[nodiscard]] virtual std::string normalised(std::string_view text) const = 0;

  /// Labels of the normalised text. DataError lists every character that no label has.
  [[nodiscard]] virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;

  /// Text of labels; blanks are left out. DataError if a label is not one of `labels()`.
  [[nodiscard]] virtual std::string decode(std::span<const std::int32_t> labels) const = 0;

  /// The bytes of text.model, which checkpoints keep; empty where the recipe says all.
  [[nodiscard]] virtual std::string_view model() const = 0;
};

/// What text.kind names. ConfigError as alphabet_characters(), or if text.model can't be used.
[[nodiscard]] std::unique_ptr<const Tokenizer> make_tokenizer(const configs::TextConfig& config);

}  // namespace penstock::runtime
