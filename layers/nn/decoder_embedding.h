#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layers/layer.h"
#include "layers/nn/text_reader.h"
#include "layers/nn/text_start.h"

namespace penstock::layers {

enum class TextPositions {
  none,
  sinusoidal,
  learned,
  canary,  // sinusoids apart (layers/ops/positions.h), divided by the root of the width
};

struct DecoderEmbeddingOptions {
  std::string name = "embed_tokens";
  std::int64_t classes = 0;                // V: ids 0 … V - 1
  std::int64_t width = 0;                  // W: channels of the memory and of the text
  std::vector<std::int32_t> prompt = {};   // ids before the text, or none
  std::vector<std::int32_t> prompts = {};  // of languages: see TextStart
  std::int32_t bos = 0;                    // id that begins each text
  double scale = 1;                        // factor of the embeddings, not of positions
  TextPositions positions = TextPositions::sinusoidal;
  std::int64_t max_positions = 0;  // M: rows of learned positions, and of a text that has these or
                                   // Canary's at most
  double deviation = 0.02;         // of the tables' initial values
};

/// Begins a decoder that attends to the encoder's output. Its input, the memory, is the first
/// matrix of its output, and the second one is the text: of an utterance with L labels and P prompt
/// ids, P
/// + 1 + L rows. Row t of a text is scale · E[id] + positions[t], for the ids of the prompt, of
/// `bos` and of the labels. Positions are sinusoids (layers/ops/positions.h), Canary's or learned.
///
/// It reads Context::targets, in backward too, though it has no loss: only their labels and
/// lengths, in which id 0 is a row like others. In evaluation without targets there are no labels.
///
/// Parameters: "<name>.weight" [V, W] and, if they are learned, "<name>.positions" [M, W].
class DecoderEmbedding final : public Layer, public TextReader {
 public:
  /// ShapeError if the options describe no embedding.
  explicit DecoderEmbedding(DecoderEmbeddingOptions options);

  const std::string& name() const override { return options_.name; }
  const DecoderEmbeddingOptions& options() const { return options_; }
  /// Labels are those of ActivationDecl::labels_or_usual().
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  /// ShapeError for labels that are no rows of the table, for texts with more rows than there are
  /// learned positions, and for tensors that were planned for other numbers of labels.
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

  void embed(Context& context, const Params& params, const NextRows& rows) const override;
  std::size_t embed_workspace(const BackendSizes& sizes, std::int64_t rows) const override;

 private:
  TextStart start() const { return {{}, options_.prompt, options_.prompts, options_.bos}; }
  bool learned() const { return options_.positions == TextPositions::learned; }
  bool computed() const;
  bool ends() const { return learned() || options_.positions == TextPositions::canary; }
  void fill(const Context& context, const Tensor& table, std::int64_t first) const;
  std::int64_t labels_at_most() const;
  std::vector<std::int64_t> texts_of(const Context& context) const;
  void add_positions(const Context& context, const Params& params,
                     std::span<const std::int64_t> texts, const Tensor& y_RW) const;

  DecoderEmbeddingOptions options_;
};

}  // namespace penstock::layers
