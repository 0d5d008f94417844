#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "layers/layer.h"
#include "partition/model/layer_runs.h"

namespace penstock::partition {

using LayerRange = std::span<const std::unique_ptr<layers::Layer>>;

/// Where a tensor lies. A slot lives from a micro-batch's forward to the end of its backward (of
/// backward_weight, where backward is split); the buffer of what is recomputed only while forward
/// runs and again from the start of backward to its end, where runs of layers take turns unless
/// passes part; scratch is reused by every layer; the other three are message buffers of the chunk.
struct Place {
  enum class Region { slot, recomputed, scratch, input, output_gradient, input_gradient };
  Region region = Region::slot;
  std::size_t offset = 0;
};

/// The plans of neighbouring layers for one micro-batch, and what passes between them.
struct PlannedLayers {
  std::vector<layers::ActivationDecl> activations;  // [i] enters layer i; the last leaves them all
  std::vector<layers::LayerPlan> layers;
};
std::shared_ptr<const PlannedLayers> plan_range(LayerRange layers,
                                                const layers::ActivationDecl& input,
                                                const layers::BackendSizes& sizes);

/// Of a model's input as the host sends it to a device: FP32 features, then the weights of losses.
[[nodiscard]] std::size_t features_bytes(const layers::ActivationDecl& input);

/// Where everything of one micro-batch lies in the chunk that runs `layers`. The executor allocates
/// what this says, and the planner adds up the same numbers.
struct MicroBatchLayout {
  std::shared_ptr<const PlannedLayers> planned;         // which holds what the two spans show
  std::span<const layers::ActivationDecl> activations;  // [i] enters layer i; the last leaves the
                                                        // chunk
  std::span<const layers::LayerPlan> layers;

  std::vector<Place> activation_places;
  std::vector<Place> gradient_places;            // of their gradients
  std::vector<std::vector<Place>> saved_places;  // of each layer's SavedDecl::Kind::own
  Place workspace;  // of one layer's method; also of features and logits in FP32, for the host
  /// Whose activations are recomputed before their backward; the first may be layers in front of
  /// all backward, which keep none and run once.
  std::vector<LayerRun> recomputed_runs = {};

  std::size_t slot_bytes = 0;        // what must stay between forward and backward
  std::size_t recomputed_bytes = 0;  // what activation recomputation makes instead
  std::size_t scratch_bytes = 0;     // the most that one layer's method needs at once
  std::size_t passing_bytes = 0;  // of them, what passes from layer to layer without recomputation
  std::size_t carried_bytes =
      0;  // what lives from one pass of backward to the other, where backward is split

  /// A message that carries an activation ends with the FP32 weight of each utterance's loss, which
  /// only the stage that reads audio knows: 0 where audio failed.
  std::size_t input_message_bytes() const { return activations.front().bytes() + weights_bytes; }
  std::size_t output_message_bytes() const { return activations.back().bytes() + weights_bytes; }
  std::size_t weights_bytes = 0;

  /// Whether the gradient that the chunk passes on lies among what is kept for backward_weight.
  bool sends_what_it_keeps() const {
    if (gradient_places.empty()) return false;
    const Place::Region region = gradient_places.front().region;
    return region == Place::Region::slot || region == Place::Region::recomputed;
  }

  /// Whether the chunk's output is made a second time, before anything else of backward.
  bool recomputes_output() const {
    return !recomputed_runs.empty() &&
           recomputed_runs.back().last == static_cast<int>(layers.size());
  }

  /// What enters the last layer.
  const layers::ActivationDecl& logits() const { return activations[layers.size() - 1]; }
};

/// What a training layout is for.
struct ChunkRole {
  bool sends_input_gradient = false;  // false for the first chunk: no one needs it
  bool sends_output = false;          // false for the last
  /// All layers' backward_weight comes later than all layers' backward_input. Else the two follow
  /// each other layer by layer, and what only passes between them needs no slot.
  bool splits_backward = false;
  /// Of the chunk's layers. Between forward and backward of a run of chosen ones only its input
  /// stays, and what others read of its output; just before its backward, it is recomputed
  /// (Chen et al. 2016, arXiv:1604.06174).
  ChosenLayers recomputes = {};
};

MicroBatchLayout lay_out_training(LayerRange layers, const layers::ActivationDecl& input,
                                  const layers::BackendSizes& sizes, const ChunkRole& role);
/// The same of some of the layers that are planned, without planning them again.
MicroBatchLayout lay_out_training(std::shared_ptr<const PlannedLayers> planned,
                                  const LayerRun& chunk, const ChunkRole& role);

/// Forward only: nothing is saved, so `slot_bytes` holds the chunk's output alone. Without targets
/// the layers that need them are not run and get no workspace.
MicroBatchLayout lay_out_evaluation(LayerRange layers, const layers::ActivationDecl& input,
                                    const layers::BackendSizes& sizes, bool targets);
MicroBatchLayout lay_out_evaluation(std::shared_ptr<const PlannedLayers> planned,
                                    const LayerRun& chunk, bool targets);

}  // namespace penstock::partition
