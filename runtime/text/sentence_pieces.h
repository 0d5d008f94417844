#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "configs/alphabet.h"
#include "runtime/text/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace penstock::runtime {

/// Labels that stand for the pieces of a SentencePiece model, unigram or BPE: piece i is label
/// i + 1. Labels of control and unknown symbols are in no text, and decode to nothing.
class SentencePieces : public Tokenizer {
 public:
  /// Reads text.model. ConfigError if it can't be read, or is no SentencePiece model.
  explicit SentencePieces(const configs::TextConfig& config);
  /// Of the bytes of a model that text.model need not hold yet. ConfigError if they are none.
  SentencePieces(std::string model, const configs::TextConfig& config);
  ~SentencePieces() override;

  int labels() const override;
  /// What the pieces of the text spell: the model's own normalisation, such as NFKC, is in it.
  /// DataError as encode().
  std::string normalised(std::string_view text) const override;
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> labels) const override;
  std::string_view model() const override { return model_; }
  /// By number, control and unknown symbols among them.
  std::vector<std::string> pieces() const;

 private:
  configs::TextRules rules_;
  std::string model_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> pieces_;
};

}  // namespace penstock::runtime
