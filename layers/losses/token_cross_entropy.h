#pragma once

#include <cstdint>
#include <string>

#include "layers/backend.h"
#include "layers/layer.h"
#include "layers/ops/linear.h"

namespace penstock::layers {

class Scratch;

struct TokenCrossEntropyOptions {
  std::string name = "lm_head";
  std::int64_t classes = 0;  // V: ids 0 … V - 1
  std::int64_t width = 0;    // W: channels of the input
  std::int32_t eos = 0;      // id that ends each text
  double smoothing = 0;      // label smoothing ε, in [0, 1)
  double deviation = 0.02;   // of the weight's initial values, as in Llama
  bool bias = false;         // of the logits; it starts at 0
  /// A tile's logits have at most so many numbers, or those of one row. 0: 2^22 on a CPU, and 2^24
  /// on a GPU, whose kernels need more work.
  std::int64_t tile_numbers = 0;
  /// Parameter of an embedding that the weight is tied to (ParamDecl::tied_to), or "".
  std::string tied_to = {};
};

/// The loss of a language model at the end of a layer sequence, with the product that gives its
/// logits: Linear, whose weight Llama calls lm_head. Of an utterance with L labels,
/// the last L + 1 rows of x_FW count. Row j of them predicts label j, and the last one predicts
/// `eos`. Other rows, such as those of audio and prompts, get a gradient of 0.
///
/// The loss of an utterance is the sum of the cross-entropies of its labels and of eos
/// (layers/ops/cross_entropy.h), in nats. It is divided by nothing, as CTC's is, and Targets::scale
/// is the gradient's only factor besides the utterance's weight. Id 0 is a class like others. The
/// output is empty, and losses go to Context::targets, which backward_input reads too.
///
/// Parameters: with bias "<name>.bias" [V], and "<name>.weight" [V, W], which is the last since it
/// may be tied.
///
/// Memory: logits exist for one tile of an utterance's rows at a time, and are computed again in
/// backward.
class TokenCrossEntropy final : public Layer {
 public:
  /// ShapeError if the options describe no such loss.
  explicit TokenCrossEntropy(TokenCrossEntropyOptions options);

  const std::string& name() const override { return options_.name; }
  const TokenCrossEntropyOptions& options() const { return options_; }
  /// Labels are those of ActivationDecl::labels_or_usual(), at most one less than the rows. No size
  /// shrinks if an utterance gets more rows or more labels.
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  /// ShapeError for labels that are no classes or that need more rows than there are, and for saved
  /// tensors that were planned for other numbers of labels.
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

  /// Computes the logits of rows.
  static void score(Context& context, const Params& params, const Tensor& x_RW,
                    const Tensor& logits_RV) {
    context.backend.run(context.stream,
                        LinearForward{x_RW, params.weights.back(), bias_of(params), logits_RV});
  }

 private:
  static Tensor bias_of(const Params& params) {
    return params.weights.size() > 1 ? params.weights[0] : Tensor{};
  }

  struct Batch;
  struct Tile;
  struct Kept;

  std::int64_t tile_rows(DeviceKind device) const;
  Workspace workspace(const Batch& batch, const BackendSizes& sizes) const;
  Batch batch_of(const Context& context) const;
  Kept kept_in(Saved saved, Scratch& scratch, const Batch& batch) const;
  /// Adds a tile's share of the weight's gradient, and computes the gradient of its rows where
  /// `dx_FW` has data.
  void separate(Context& context, const Params& params, const Tile& tile, Saved saved,
                const Tensor& logits_RV, const Tensor& dx_FW) const;

  TokenCrossEntropyOptions options_;
};

}  // namespace penstock::layers
