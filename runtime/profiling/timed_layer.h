#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "layers/backend.h"
#include "layers/layer.h"

namespace penstock::runtime {

/// A layer by itself, to measure its forward in training. Its weights and input are noise
/// (layers/noise.h).
class TimedLayer {
 public:
  /// `layer` must outlive this, and take one matrix of `channels`.
  TimedLayer(layers::Backend& backend, const layers::Layer& layer,
             const layers::BackendSizes& sizes, const layers::FramesDecl& input);

  const layers::LayerPlan& plan() const { return plan_; }
  /// What its forward reads and writes.
  const layers::Activation& input() const { return x_; }
  const layers::Activation& output() const { return y_; }
  /// Operations of a forward, as the plan counts them.
  double operations() const { return plan_.flops.forward; }
  /// usual_seconds() of a forward among many that are launched back to back, as the layers of a
  /// step are: the host waits for all of them together, so that none pays for a wait. They are
  /// fewer where one takes long.
  double seconds(double least_s);

 private:
  /// Of noise within ± `most`; 0: of zeros.
  layers::Tensor take(layers::DType dtype, const layers::Shape& shape, float most);

  layers::Backend& backend_;
  const layers::Layer& layer_;
  layers::ActivationDecl input_;
  layers::LayerPlan plan_;
  std::unique_ptr<layers::Stream> stream_;
  std::vector<layers::Buffer> buffers_;
  std::vector<layers::Tensor> weights_, saved_;
  layers::Activation x_, y_;
};

/// Seconds of `call`, which waits for what it does: the lower quartile of calls for at least
/// `least_s` seconds, or of 64, since others use a machine too. The first is left out.
double usual_seconds(const std::function<void()>& call, double least_s);

}  // namespace penstock::runtime
