#include "layers/losses/token_cross_entropy.h"
#include "layers/nn/text_embedding.h"
#include "tests/layers/cuda/layer_parity.h"

namespace penstock::layers {
namespace {

/// Layers of a language model that read labels.
class CudaTokenLayers : public LayerParity {
 protected:
  const TextBatch batch_ = {
      .frames = {7, 1, 13, 5}, .labels = {0, 2, 2, 1, 36, 1, 4, 2, 4, 36}, .counts = {4, 0, 2, 4}};
};

// Tiles have three rows.
TEST_P(CudaTokenLayers, CrossEntropyTrains) {
  compare(TokenCrossEntropy(
              {.classes = 37, .width = 9, .eos = 3, .smoothing = 0.1, .tile_numbers = 120}),
          9, batch_);
}

TEST_P(CudaTokenLayers, TextEmbeddingTrains) {
  compare(TextEmbedding({.classes = 37, .width = 9, .prompt = {4, 36, 4}, .bos = 1}), 9, batch_);
  compare(
      TextEmbedding({.classes = 37, .width = 9, .prefix = {5, 4}, .prompt = {4, 36, 4}, .bos = 1}),
      9, batch_);
}

PARITY_OF_ALL_TYPES(CudaTokenLayers);

}  // namespace
}  // namespace penstock::layers
