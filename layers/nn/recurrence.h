#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "layers/layer.h"
#include "layers/ops/recurrence.h"

namespace penstock::layers {

struct RecurrenceOptions {
  std::string name;
  RecurrenceKind kind = RecurrenceKind::gru;
  std::int64_t directions = 2;  // or 1
  std::int64_t hidden = 0;
};

/// A tanh, GRU or LSTM recurrence within each utterance; RecurrenceKind has the formulas. Its input
/// is the projection W x + b of both directions, directions · gates · hidden channels, which a
/// Linear layer computes. Its output is the sum of the directions, `hidden` channels. Parameters:
/// "<name>.weight" [directions, gates · hidden, hidden] and "<name>.bias" [directions, gates ·
/// hidden], PyTorch's weight_hh and bias_hh. They start uniform in ±1/sqrt(hidden).
class Recurrence final : public Layer {
 public:
  /// ShapeError unless there are 1 or 2 directions and at least 1 hidden channel.
  explicit Recurrence(RecurrenceOptions options);

  const std::string& name() const override { return options_.name; }
  const RecurrenceOptions& options() const { return options_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  Workspace copies(const BackendSizes& sizes, const RecurrenceShape& shape) const;
  RecurrenceShape shape(std::span<const std::int64_t> lengths) const;

  RecurrenceOptions options_;
};

}  // namespace penstock::layers
