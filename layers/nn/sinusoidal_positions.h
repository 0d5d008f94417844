#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "layers/layer.h"
#include "layers/ops/positions.h"

namespace penstock::layers {

/// Computes y[t] = scale · x[t] + table[t], where t counts from an utterance's first frame:
/// absolute positions (Vaswani et al. 2017), the PositionalEncoding of PyTorch's tutorial, ESPnet
/// and NeMo. With a period, t begins anew after as many frames. The table
/// (layers/ops/positions.h) is made once for all utterances of a micro-batch, in scratch. It has no
/// parameters and saves nothing. Whisper's positions are in halves and end after some frames.
class SinusoidalPositions final : public Layer {
 public:
  /// An utterance has at most `max_frames` frames; 0: any number. With a `period` of 0, t never
  /// begins anew.
  SinusoidalPositions(std::string name, double scale, SinusoidOrder order = SinusoidOrder::pairs,
                      std::int64_t max_frames = 0, std::int64_t period = 0)
      : name_(std::move(name)),
        scale_(scale),
        order_(order),
        max_frames_(max_frames),
        period_(period) {}

  const std::string& name() const override { return name_; }
  /// ShapeError if an utterance has more than max_frames, or if halves have fewer than two
  /// channels.
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  double scale_;
  SinusoidOrder order_;
  std::int64_t max_frames_;
  std::int64_t period_;
};

}  // namespace penstock::layers
