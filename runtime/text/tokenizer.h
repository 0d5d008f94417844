#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "configs/config.h"
#include "configs/text_rules.h"
#include "runtime/text/label.h"

namespace penstock::runtime {

/// Returns the code points of a UTF-8 text after the rules were applied. Runs of white space become
/// one space, and the ends are trimmed. If the rules remove the space, there is none. Throws
/// DataError if the text is not UTF-8.
[[nodiscard]] std::u32string folded_text(std::string_view text, const configs::TextRules& rules);

/// Lists characters as "'é' (U+00E9), '7' (U+0037)": each once, in the order of first occurrence.
[[nodiscard]] std::string listed(std::u32string_view characters);

/// Thrown if a transcript has characters that have no label.
class UnknownCharacters : public DataError {
 public:
  /// `where` says where labels are missing: "outside text.alphabet". `characters` may contain
  /// repeats.
  UnknownCharacters(std::string_view where, std::u32string characters);
  const std::u32string& characters() const { return characters_; }

 private:
  std::u32string characters_;
};

/// Lists characters and the number of transcripts that have each, the most frequent first: "'о'
/// (U+043E) in 551, 'е' (U+0435) in 549, and 31 others".
[[nodiscard]] std::string describe_characters(const std::map<char32_t, std::int64_t>& transcripts,
                                              std::size_t max);

/// The label that no text has: it is the loss's own, such as CTC's blank. Text labels follow from 1
/// on.
inline constexpr std::int32_t kNoText = 0;

/// Converts transcripts to labels and back. Text is UTF-8.
class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  /// Returns the number of labels, including the loss's own.
  [[nodiscard]] virtual int labels() const = 0;

  /// Returns all labels() labels by number, the loss's own first.
  [[nodiscard]] virtual std::vector<Label> vocabulary() const = 0;

  /// Returns the text as a perfect recogniser would output it: folded_text(), and without other
  /// differences that labels cannot express. Throws DataError if the text is not UTF-8.
  [[nodiscard]] virtual std::string normalised(std::string_view text) const = 0;

  /// Returns the labels of the normalised text. Throws DataError that lists every character without
  /// a label.
  [[nodiscard]] virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;

  /// Returns the text of labels, without those that are no text. Throws DataError if one is not
  /// below labels().
  [[nodiscard]] virtual std::string decode(std::span<const std::int32_t> labels) const = 0;

  /// Returns the bytes of text.model, which checkpoints store; empty if the recipe is sufficient.
  [[nodiscard]] virtual std::string_view model() const = 0;
};

/// Creates the tokenizer that text.kind names. Throws ConfigError like alphabet_characters(), or if
/// text.model can't be used.
[[nodiscard]] std::unique_ptr<const Tokenizer> make_tokenizer(const configs::TextConfig& config);

}  // namespace penstock::runtime
