#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "layers/layer.h"

namespace penstock {

using LayerRange = std::span<const std::unique_ptr<Layer>>;

/// Where a tensor lies. A slot lives from a micro-batch's forward to the end of its backward;
/// scratch is reused by every layer; the other three are message buffers of the stage.
struct Place {
  enum class Region { slot, scratch, input, output_gradient, input_gradient } region = Region::slot;
  std::size_t offset = 0;
};

/// Where everything of one micro-batch lies on the stage that runs `layers`, backward taken as one
/// action (backward_input and backward_weight of a layer follow each other). The executor allocates
/// what this says, and the planner adds up the same numbers.
struct MicroBatchLayout {
  std::vector<ActivationDecl> activations;  // [i] enters layer i; the last leaves the stage
  std::vector<LayerPlan> layers;

  std::vector<Place> activation_places;
  std::vector<Place> gradient_places;            // of their gradients
  std::vector<std::vector<Place>> saved_places;  // of each layer's SavedDecl::Kind::own
  Place workspace;  // of one layer's method; also of features and logits in FP32, for the host

  std::size_t slot_bytes = 0;     // what must stay between forward and backward
  std::size_t scratch_bytes = 0;  // the most that one layer's method needs at once

  /// A message that carries an activation ends with the FP32 weight of each utterance's loss, which
  /// only the stage that reads audio knows: 0 where audio failed.
  std::size_t input_message_bytes() const { return activations.front().bytes() + weights_bytes; }
  std::size_t output_message_bytes() const { return activations.back().bytes() + weights_bytes; }
  std::size_t weights_bytes = 0;

  /// What enters the last layer.
  const ActivationDecl& logits() const { return activations.at(layers.size() - 1); }
};

/// What the layout is for: whether the stage's ends are message edges, and whether it trains.
struct StageEnds {
  bool sends_input_gradient = false;  // false on the first stage: no one needs it
  bool sends_output = false;          // false on the last
};

MicroBatchLayout lay_out_training(LayerRange layers, const ActivationDecl& input,
                                  const BackendSizes& sizes, StageEnds ends);

/// Forward only: nothing is saved, so `slot_bytes` holds the stage's output alone. Without targets
/// the layers that need them are not run and get no workspace.
MicroBatchLayout lay_out_evaluation(LayerRange layers, const ActivationDecl& input,
                                    const BackendSizes& sizes, bool targets);

}  // namespace penstock
