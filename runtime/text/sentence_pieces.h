#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "configs/text_rules.h"
#include "runtime/text/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace penstock::runtime {

/// A tokenizer whose labels are the pieces of a SentencePiece model, unigram or BPE: piece i is
/// label i + 1. Labels of control and unknown symbols occur in no text and decode to nothing.
class SentencePieces : public Tokenizer {
 public:
  /// Reads text.model. Throws ConfigError if it can't be read or is no SentencePiece model.
  explicit SentencePieces(const configs::TextConfig& config);
  /// Uses the bytes of a model, which text.model need not hold yet. Throws ConfigError if they are
  /// not a model.
  SentencePieces(std::string model, const configs::TextConfig& config);
  ~SentencePieces() override;

  int labels() const override;
  std::vector<Label> vocabulary() const override;
  /// Returns the text that its pieces spell. This includes the model's own normalisation, such as
  /// NFKC. Throws DataError like encode().
  std::string normalised(std::string_view text) const override;
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const std::int32_t> labels) const override;
  std::string_view model() const override { return model_; }
  /// Returns all pieces by number, including control and unknown symbols.
  std::vector<std::string> pieces() const;

 private:
  configs::TextRules rules_;
  std::string model_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> pieces_;
};

struct PieceTraining {
  int pieces = 0;                // pieces of the model, including the unknown symbol
  std::string kind = "unigram";  // unigram | bpe
};

/// Trains a SentencePiece model on transcripts without normalising them. Returns the bytes of the
/// .model file, which depend on the texts, their order and the options alone. The model has no
/// symbols besides pieces and <unk>, and it has a piece for every character of the texts. Throws
/// DataError if there is no text. Throws ConfigError, with the bound, if the texts have more
/// characters than there are pieces, or can't yield so many pieces.
[[nodiscard]] std::string train_pieces(const std::vector<std::string>& texts,
                                       const PieceTraining& training);

}  // namespace penstock::runtime
