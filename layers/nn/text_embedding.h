#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layers/backend.h"
#include "layers/layer.h"
#include "layers/nn/text_reader.h"
#include "layers/nn/text_start.h"
#include "layers/ops/embedding.h"

namespace penstock::layers {

struct TextEmbeddingOptions {
  std::string name = "embed_tokens";
  std::int64_t classes = 0;                // V: ids 0 … V - 1
  std::int64_t width = 0;                  // W: channels of audio and of text
  std::vector<std::int32_t> prefix = {};   // ids before the audio, or none
  std::vector<std::int32_t> prompt = {};   // ids between the audio and the text, or none
  std::vector<std::int32_t> prompts = {};  // of languages: see TextStart
  std::int32_t bos = 0;                    // id that begins each text
  double deviation = 0.02;                 // of the table's initial values, as in Llama
};

/// Makes the input of a language model that hears: of an utterance with T frames, Q ids of a
/// prefix, P prompt ids and L labels, Q + T + P + 1 + L rows. They are the embeddings of the
/// prefix, the frames themselves, and then the embeddings of the prompt, of `bos` and of the
/// labels. It reads Context::targets, in backward too, though it has no loss: only their labels and
/// lengths, in which id 0 is a row like others. In evaluation without targets there are no labels.
///
/// Parameter: "<name>.weight" [V, W].
class TextEmbedding final : public Layer, public TextReader {
 public:
  /// ShapeError if the options describe no embedding.
  explicit TextEmbedding(TextEmbeddingOptions options);

  const std::string& name() const override { return options_.name; }
  const TextEmbeddingOptions& options() const { return options_; }
  /// Labels are those of ActivationDecl::labels_or_usual().
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  /// ShapeError for labels that are no rows of the table, and for outputs and saved tensors that
  /// were planned for other numbers of labels.
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

  void embed(Context& context, const Params& params, const NextRows& next) const override {
    context.backend.run(context.stream, EmbeddingForward{next.ids_P, params.weights[0], next.y_PW});
  }
  std::size_t embed_workspace(const BackendSizes& sizes, std::int64_t rows) const override;

 private:
  struct Batch;

  TextStart start() const {
    return {options_.prefix, options_.prompt, options_.prompts, options_.bos};
  }
  /// Returns the rows of each text, prefix included.
  std::vector<std::int64_t> texts_of(std::span<const std::int64_t> labels) const;
  Batch batch_of(const Context& context) const;

  TextEmbeddingOptions options_;
};

}  // namespace penstock::layers
