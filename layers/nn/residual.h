#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace penstock::layers {

struct ResidualLayout;

struct ResidualOptions {
  std::string name;
  std::int64_t channels = 0;
  double scale = 1;  // of what the parts add: 1/2 of a Conformer's feed-forward
  std::vector<std::unique_ptr<Layer>> parts;  // at least one
};

/// y = x + scale · f(x), f being its parts one after the other, none of which changes the number of
/// frames. One link of the layer sequence: a stage begins before or behind it. Parameters, state
/// and kept tensors are those of the parts.
class Residual final : public Layer {
 public:
  /// ShapeError without parts, or if they do not fit each other.
  explicit Residual(ResidualOptions options);

  const std::string& name() const override { return options_.name; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;
  void commit_state(std::span<const double> sums, std::span<const Tensor> state) const override;

 private:
  ResidualLayout layout(const ActivationDecl& input, const BackendSizes& sizes) const;
  /// Of a micro-batch that is being computed.
  ResidualLayout layout(const Context& context, DType dtype) const;

  ResidualOptions options_;
};

}  // namespace penstock::layers
