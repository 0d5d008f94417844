#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "layers/backend.h"
#include "layers/layer.h"

namespace penstock::runtime {

/// Times the training forward of a single layer. Weights and input are noise (layers/initialise.h).
class TimedLayer {
 public:
  /// `layer` must outlive this and take a single input matrix.
  TimedLayer(layers::Backend& backend, const layers::Layer& layer,
             const layers::BackendSizes& sizes, const layers::FramesDecl& input);

  const layers::LayerPlan& plan() const { return plan_; }
  /// The input and the output of the forward.
  const layers::Activation& input() const { return x_; }
  const layers::Activation& output() const { return y_; }
  /// Returns the operations of a forward, as the plan counts them.
  double operations() const { return plan_.flops.forward; }
  /// Returns the lower_quartile_seconds() of one forward among many that are launched back to back,
  /// like the layers of a step. The host waits once for all of them, so no forward pays for a wait.
  /// Slow layers are launched fewer at a time.
  double seconds(double min_s);

 private:
  /// Allocates a tensor and fills it with noise within ± `max`; 0 fills it with zeros.
  layers::Tensor take(layers::DType dtype, const layers::Shape& shape, float max);

  layers::Backend& backend_;
  const layers::Layer& layer_;
  layers::ActivationDecl input_;
  layers::LayerPlan plan_;
  std::unique_ptr<layers::Stream> stream_;
  std::vector<layers::Buffer> buffers_;
  std::vector<layers::Tensor> weights_, saved_;
  layers::Activation x_, y_;
};

/// Returns the lower quartile of the seconds of `call`, which must wait for its work. Calls for at
/// least `min_s` seconds or 64 times. A quartile is robust against other users of the machine.
/// The first call is a warm-up.
double lower_quartile_seconds(const std::function<void()>& call, double min_s);

}  // namespace penstock::runtime
