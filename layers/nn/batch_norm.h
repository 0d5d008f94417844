#pragma once

#include <cstdint>
#include <string>

#include "layers/layer.h"

namespace penstock::layers {

struct BatchNormOptions {
  std::string name;
  std::int64_t channels = 0;
  std::int64_t groups = 1;  // frequencies after a convolution: columns are [frequency][channel]
  double epsilon = 1e-5;
  double momentum = 0.1;  // share of a step in the running statistics
  bool silu = false;      // y = z · σ(z) of the normalised z, which is not saved
};

/// Batch normalisation over real frames. In training, a micro-batch is normalised by its own
/// statistics. At the step, the running statistics move towards those of all its micro-batches
/// together (variance unbiased, as in PyTorch), and evaluation uses them. Parameters:
/// "<name>.weight", "<name>.bias" [channels]; state: "<name>.running_mean", "<name>.running_var"
/// [channels].
class BatchNorm final : public Layer {
 public:
  explicit BatchNorm(BatchNormOptions options);

  const std::string& name() const override { return options_.name; }
  const BatchNormOptions& options() const { return options_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;
  std::vector<double> pool(std::span<const double> sums) const override;
  void commit_state(Context&, std::span<const double> sums,
                    std::span<const Tensor> state) const override;

 private:
  BatchNormOptions options_;
};

}  // namespace penstock::layers
