#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "layers/backend.h"
#include "layers/layer.h"

namespace penstock::runtime {

/// A layer by itself, with memory of its own full of zeros, to measure its forward in training.
class TimedLayer {
 public:
  /// `layer` must outlive this, and take one matrix of `channels`.
  TimedLayer(layers::Backend& backend, const layers::Layer& layer,
             const layers::BackendSizes& sizes, const layers::FramesDecl& input);

  const layers::LayerPlan& plan() const { return plan_; }
  /// Operations of a forward, as the plan counts them.
  double operations() const { return plan_.flops.forward; }
  /// usual_seconds() of a forward.
  double seconds(double least_s);

 private:
  layers::Tensor take(layers::DType dtype, const layers::Shape& shape);

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
