#include "runtime/text/train_pieces.h"

#include "base/error.h"

namespace penstock::runtime {

std::string train_pieces(const std::vector<std::string>&, const PieceTraining&) {
  throw ConfigError(
      "this penstock was built without SentencePiece: build it with PENSTOCK_SENTENCEPIECE=ON");
}

}  // namespace penstock::runtime
