#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "configs/text_rules.h"
#include "runtime/text/byte_pairs/coder.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

/// A tokenizer whose labels are the tokens of a byte-level BPE: id i is label i + 1. Special tokens
/// and Whisper's times, such as <|0.02|>, decode to nothing.
class BytePairs : public Tokenizer {
 public:
  /// Reads text.model, like byte_pairs_at(). Throws ConfigError if it can't be used.
  explicit BytePairs(const configs::TextConfig& config);
  /// Uses the text of a tokenizer.json, which text.model need not hold yet. Throws ConfigError if
  /// it can't be used.
  BytePairs(std::string tokenizer_json, const configs::TextConfig& config);

  int labels() const override;
  std::vector<Label> vocabulary() const override;
  /// Returns the text that its tokens spell. This includes the model's own normalisation.
  std::string normalised(std::string_view text) const override;
  std::vector<std::int32_t> encode(std::string_view text) const override;
  /// Returns the text of labels in one line, without white space at its ends.
  std::string decode(std::span<const std::int32_t> labels) const override;
  std::string_view model() const override { return json_; }

 private:
  configs::TextRules rules_;
  std::string json_;
  BytePairCoder coder_;
  std::vector<bool> symbols_;  // by id: true for tokens that stand for no text
};

}  // namespace penstock::runtime
