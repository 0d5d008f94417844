#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"

namespace penstock::runtime {

/// The label of CTC's blank. Text labels follow from 1 on.
inline constexpr std::int32_t kBlank = 0;

/// Converts transcripts to labels and back. Text is UTF-8.
class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  /// Returns the number of labels, including the blank.
  [[nodiscard]] virtual int labels() const = 0;

  /// Returns the text as a perfect recogniser would output it: folded_text(), and without other
  /// differences that labels cannot express. Throws DataError if the text is not UTF-8.
  [[nodiscard]] virtual std::string normalised(std::string_view text) const = 0;

  /// Returns the labels of the normalised text. Throws DataError that lists every character without
  /// a label.
  [[nodiscard]] virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;

  /// Returns the text of labels, without blanks. Throws DataError if one is not below labels().
  [[nodiscard]] virtual std::string decode(std::span<const std::int32_t> labels) const = 0;

  /// Returns the bytes of text.model, which checkpoints store; empty if the recipe is sufficient.
  [[nodiscard]] virtual std::string_view model() const = 0;
};

/// Creates the tokenizer that text.kind names. Throws ConfigError like alphabet_characters(), or if
/// text.model can't be used.
[[nodiscard]] std::unique_ptr<const Tokenizer> make_tokenizer(const configs::TextConfig& config);

}  // namespace penstock::runtime
