#pragma once

#include <string>
#include <vector>

namespace penstock::runtime {

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
