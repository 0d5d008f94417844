#pragma once

#include <cstdint>
#include <string_view>

#include "layers/layer.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/linear.h"

namespace penstock::layers {

class Scratch;

/// Ends of the names of an adapter's parameters A and B, after its layer's. PEFT has the same.
inline constexpr std::string_view kLoraA = ".lora_A.weight", kLoraB = ".lora_B.weight";

struct LoraOptions {
  std::int64_t rank = 8;
  double alpha = 16;   // the update is scaled by alpha / rank
  double dropout = 0;  // of the update's input
};

/// Low-rank adaptation of a linear layer (LoRA, Hu et al. 2021), as PEFT has it: y = x · W^T + b +
/// (alpha / rank) · dropout(x) · A^T · B^T. W and b are frozen and have no gradient sums. Trained
/// parameters: "<name>.lora_A.weight" [rank, in], which starts like W, and "<name>.lora_B.weight"
/// [out, rank], which starts at 0, so that y is at first the linear layer's.
class LoraLinear final : public Layer {
 public:
  /// ShapeError if the rank is below 1, or if a row of the layer has several parts.
  LoraLinear(const Linear& linear, const LoraOptions& options);

  const std::string& name() const override { return linear_.name(); }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  bool drops(const Context& context) const;
  /// Returns dropout(x), in `scratch`, or x itself if nothing is dropped.
  Tensor dropped(Context& context, const Frames& x, Scratch& scratch) const;
  Workspace workspace(const FramesDecl& x, const BackendSizes& sizes) const;

  Linear linear_;
  LoraOptions options_;
  Dropout dropout_;
};

}  // namespace penstock::layers
