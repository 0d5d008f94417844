#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "layers/layer.h"
#include "layers/ops/positions.h"

namespace penstock::layers {

class Scratch;

struct SinusoidOptions {
  double scale = 1;
  SinusoidOrder order = SinusoidOrder::pairs;
  std::int64_t max_frames = 0;  // maximum frames of an utterance; 0: any number
  std::int64_t period = 0;      // frames after which positions begin anew; 0: never
  bool stored = false;          // the table is a parameter, of max_frames rows
};

/// Computes y[t] = scale · x[t] + table[t], where t counts from an utterance's first frame:
/// absolute positions (Vaswani et al. 2017), the PositionalEncoding of PyTorch's tutorial, ESPnet
/// and NeMo. With a period, t begins anew after as many frames. The table (layers/ops/positions.h)
/// is made once for all utterances of a micro-batch, in scratch. It saves nothing. Whisper's
/// positions are in halves and end after some frames.
///
/// A stored table is the parameter "<name>.weight" [max_frames, channels], which begins as these
/// sinusoids in halves and is never trained, as embed_positions of transformers' WhisperEncoder.
/// Otherwise there are no parameters.
class SinusoidalPositions final : public Layer {
 public:
  explicit SinusoidalPositions(std::string name, const SinusoidOptions& options = {})
      : name_(std::move(name)), options_(options) {}

  const std::string& name() const override { return name_; }
  const SinusoidOptions& options() const { return options_; }
  /// ShapeError if an utterance has more than max_frames, or if halves have fewer than two
  /// channels.
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  Tensor make_table(Context& context, Scratch& scratch, DType activations,
                    std::int64_t channels) const;

  std::string name_;
  SinusoidOptions options_;
};

}  // namespace penstock::layers
