#pragma once

#include <cstdint>
#include <string>

#include "layers/layer.h"

namespace penstock::layers {

struct HeadNormOptions {
  std::string name;
  std::int64_t heads = 1;     // of q
  std::int64_t kv_heads = 1;  // of k, and as many of v
  std::int64_t head_channels = 0;
  double epsilon = 1e-5;
};

/// Normalises queries and keys before attention: RMSNorm over the channels of each head, with one
/// weight for all heads of q and one for those of k, as in Qwen3 (Qwen team 2025). The input's
/// columns are q, k and v of all heads, as layers/nn/attention.h reads them; v passes as it is. A
/// frame's output does not depend on other frames, so cached keys are normalised ones.
///
/// Parameters: "<name>.q.weight" and "<name>.k.weight" [head_channels], which start at 1.
class HeadNorm final : public Layer {
 public:
  /// ShapeError if there are no heads, or no channels.
  explicit HeadNorm(HeadNormOptions options);

  const std::string& name() const override { return options_.name; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  struct Part;

  std::int64_t columns() const {
    return (options_.heads + 2 * options_.kv_heads) * options_.head_channels;
  }
  Part queries() const;
  Part keys() const;
  /// Copies the columns of v.
  void pass_values(Context& context, const Tensor& from_FP, const Tensor& to_FP) const;

  HeadNormOptions options_;
};

}  // namespace penstock::layers
