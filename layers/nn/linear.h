#pragma once

#include <cstdint>
#include <string>

#include "layers/layer.h"
#include "layers/scratch.h"

namespace penstock::layers {

struct LinearOptions {
  std::string name;
  std::int64_t in = 0, out = 0;  // channels
  bool bias = true;
  double bound = 0;  // weights and bias start uniform in ±bound; 0: 1/sqrt(in)
  /// Parts of a row, each of `in` channels, such as the frequencies of a 1 × 1 convolution.
  std::int64_t parts = 1;
  /// Outputs without a bias: `unbiased` of them from `first_unbiased` on.
  std::int64_t first_unbiased = 0, unbiased = 0;
};

/// Computes y_FO = x_FI · W_OI^T + b_O, for each part of each frame. Parameters: "<name>.weight"
/// [out, in] and, with bias, "<name>.bias" [out - unbiased], of the outputs that have one.
class Linear final : public Layer {
 public:
  explicit Linear(LinearOptions options) : options_(std::move(options)) {}

  const std::string& name() const override { return options_.name; }
  const LinearOptions& options() const { return options_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  bool has_all_biases() const { return options_.unbiased == 0; }
  std::int64_t biased() const { return options_.out - options_.unbiased; }
  Tensor bias_of(Context& context, const Params& params, Scratch& scratch) const;

  LinearOptions options_;
};

}  // namespace penstock::layers
