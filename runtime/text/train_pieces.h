#pragma once

#include <string>
#include <vector>

namespace penstock::runtime {

struct PieceTraining {
  int pieces = 0;                // of the model, the symbol for what is unknown included
  std::string kind = "unigram";  // unigram | bpe
};

/// Trains a SentencePiece model on transcripts, which are taken as they are. Returns the bytes of
/// the .model file, which follow from the texts, in their order, and from the options alone. The
/// model has no other symbol than pieces and <unk>, and pieces for every character of the texts.
/// DataError if there is no text to train on; ConfigError, with the bound, if the texts have more
/// characters than there are pieces, or can't give so many pieces.
[[nodiscard]] std::string train_pieces(const std::vector<std::string>& texts,
                                       const PieceTraining& training);

}  // namespace penstock::runtime
