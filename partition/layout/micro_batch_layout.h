#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "layers/layer.h"
#include "partition/layout/layer_sequence.h"

namespace penstock::partition {

using LayerRange = std::span<const std::unique_ptr<layers::Layer>>;

/// A Place is the region and the offset of a tensor.
/// - A slot lives from a micro-batch's forward to the end of its backward (or of backward_weight,
///   if backward is split).
/// - The buffer of recomputed tensors lives during forward, and again from the start of backward to
///   its end. Runs of layers use it in turn, unless backward is split.
/// - Scratch is reused by every layer.
/// - The other three regions are message buffers of the chunk.
struct Place {
  enum class Region { slot, recomputed, scratch, input, output_gradient, input_gradient };
  Region region = Region::slot;
  std::size_t offset = 0;
};

/// PlannedLayers holds the plans of consecutive layers for one micro-batch, and the activations
/// between them, each of which states the labels that `input` does.
struct PlannedLayers {
  /// [i] enters layer i; the last one leaves the last layer.
  std::vector<layers::ActivationDecl> activations;
  std::vector<layers::LayerPlan> layers;
};
std::shared_ptr<const PlannedLayers> plan_range(LayerRange layers,
                                                const layers::ActivationDecl& input,
                                                const layers::BackendSizes& sizes);

/// Returns the bytes of a model's input as the host sends it to a device: FP32 features, then the
/// loss weights.
[[nodiscard]] std::size_t features_bytes(const layers::ActivationDecl& input);

/// A CachePlace is where a layer keeps keys and values of the rows so far, while a decoder writes
/// texts: see layers/key_value_cache.h.
struct CachePlace {
  std::size_t keys = 0, values = 0;  // offsets in the buffer of caches
  std::int64_t rows = 0;             // capacity for each hypothesis; 0: the layer keeps none
  std::int64_t channels = 0;
};

/// Returns how many labels a decoder writes at most after so many rows. Speech has fewer sounds
/// than frames, so only a decoder that goes astray is ended by this.
constexpr std::int64_t most_written(std::int64_t rows_before_text) { return rows_before_text; }
/// Returns the same for each utterance of an activation that ends with text. All its matrices
/// count, and ActivationDecl::most_labels is a bound too.
[[nodiscard]] std::vector<std::int64_t> most_written(const layers::ActivationDecl& activation);

/// MicroBatchLayout says where each tensor of one micro-batch lies in the chunk that runs `layers`.
/// The executor allocates these bytes, and the planner adds up the same numbers.
struct MicroBatchLayout {
  std::shared_ptr<const PlannedLayers> planned;  // owns what the two spans view
  /// [i] enters layer i; the last one leaves the chunk.
  std::span<const layers::ActivationDecl> activations;
  std::span<const layers::LayerPlan> layers;

  std::vector<Place> activation_places;
  std::vector<Place> gradient_places;            // gradients of the activations
  std::vector<std::vector<Place>> saved_places;  // each layer's SavedDecl::Kind::own
  /// Workspace of one layer's method. The host also uses it for features and logits in FP32.
  Place workspace;
  /// Runs of layers whose activations are recomputed before their backward. The first run may be
  /// the layers before the first one with backward: they keep nothing and run once.
  std::vector<LayerRun> recomputed_runs = {};

  std::vector<CachePlace> cache_places = {};  // of each layer, in evaluation
  /// Offsets in the buffer of caches for the rows of one label each that enter and leave the chunk.
  std::size_t rows_in = 0, rows_out = 0;
  std::size_t cache_bytes = 0;

  std::size_t slot_bytes = 0;        // kept between forward and backward
  std::size_t recomputed_bytes = 0;  // recomputed before backward
  std::size_t scratch_bytes = 0;     // maximum over the methods of all layers
  /// The part of scratch for tensors that pass from layer to layer, without recomputation.
  std::size_t passing_bytes = 0;
  /// Tensors that live from backward_input to backward_weight, if backward is split.
  std::size_t carried_bytes = 0;

  /// A message with an activation ends with the FP32 loss weight of each utterance, which is 0 if
  /// its audio failed. Only the stage that reads audio knows the weights.
  std::size_t input_message_bytes() const { return activations.front().bytes() + weights_bytes; }
  std::size_t output_message_bytes() const { return activations.back().bytes() + weights_bytes; }
  std::size_t weights_bytes = 0;

  /// Returns true if the gradient that the chunk sends lies among the tensors kept for
  /// backward_weight.
  bool sends_what_it_keeps() const {
    if (gradient_places.empty()) return false;
    const Place::Region region = gradient_places.front().region;
    return region == Place::Region::slot || region == Place::Region::recomputed;
  }

  /// Returns true if the chunk's output is recomputed, which then comes first in backward.
  bool recomputes_output() const {
    return !recomputed_runs.empty() &&
           recomputed_runs.back().last == static_cast<int>(layers.size());
  }

  /// Returns the activation that enters the last layer.
  const layers::ActivationDecl& logits() const { return activations[layers.size() - 1]; }
};

/// A ChunkRole is how a chunk takes part in training.
struct ChunkRole {
  bool sends_input_gradient = false;  // false for the first chunk: nothing needs it
  bool sends_output = false;          // false for the last chunk
  /// True if the backward_weight of all layers comes after the backward_input of all layers.
  /// Otherwise the two follow each other layer by layer, and tensors that only pass between them
  /// need no slot.
  bool splits_backward = false;
  /// The layers of the chunk to recompute. For each run of them only its input is kept from forward
  /// to backward, and those parts of its output that other layers read. The run is recomputed just
  /// before its backward (Chen et al. 2016, arXiv:1604.06174).
  ChosenLayers recomputes = {};
};

MicroBatchLayout lay_out_training(LayerRange layers, const layers::ActivationDecl& input,
                                  const layers::BackendSizes& sizes, const ChunkRole& role);
/// Does the same for some of the planned layers, without planning them again.
MicroBatchLayout lay_out_training(std::shared_ptr<const PlannedLayers> planned,
                                  const LayerRun& chunk, const ChunkRole& role);

/// Lays out a forward-only pass. Nothing is saved, so `slot_bytes` covers the chunk's output alone.
/// Without targets the layers that need them are not run and get no workspace. Caches have room for
/// `beam` hypotheses of each text, which share the cache of what they attend to.
MicroBatchLayout lay_out_evaluation(LayerRange layers, const layers::ActivationDecl& input,
                                    const layers::BackendSizes& sizes, bool targets, int beam = 1);
MicroBatchLayout lay_out_evaluation(std::shared_ptr<const PlannedLayers> planned,
                                    const LayerRun& chunk, bool targets, int beam = 1);

}  // namespace penstock::partition
