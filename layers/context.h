#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::layers {

class Backend;
class Stream;
struct KeyValueCache;
struct AttendedMemory;

enum class Mode { train, evaluate };

/// Labels of a micro-batch, utterances one after the other. Class 0, the loss's own, does
/// not occur, unless the loss takes it for a class like others.
struct Targets {
  std::span<const std::int32_t> labels;
  std::span<const std::int32_t> lengths;  // labels of each utterance
  /// Weight of each utterance's loss; 0 for replaced audio. In the backend's memory, unlike the
  /// rest.
  std::span<const float> weights;
  double scale = 1;  // factor of gradients: 1 / utterances of the global batch
  /// Out: weighted, unscaled loss of each utterance. A loss of several parts (LayerPlan::losses)
  /// leaves one part of all utterances after the other; their sum is the loss.
  std::span<double> losses;
  /// Number of each utterance's language among the prompts of a decoder, from 1; 0: the usual
  /// prompt. Empty: all have that one.
  std::span<const std::int32_t> prompts = {};
};

/// Keys of random numbers. They are equal for any cut of the model and any packing of utterances.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::span<const std::uint64_t> utterances;  // the micro-batch's, by their place in the index
};

/// The environment in which a layer's method runs.
struct Context {
  Backend& backend;
  Stream& stream;
  Mode mode = Mode::train;
  std::span<const std::int64_t> lengths =
      {};  // frames of each utterance in the layer's input, or in its first matrix
  /// The same of its second matrix, the text, if it has one.
  std::span<const std::int64_t> text_lengths = {};
  std::span<std::byte> workspace = {};  // at least what the plan states for this method
  std::span<double> sums = {};          // out, in training: LayerPlan::sums numbers
  RandomKey random = {};
  /// Set if LayerPlan::needs_targets, and in training for LayerPlan::auxiliary_loss. In backward it
  /// has labels and lengths alone.
  Targets* targets = nullptr;
  /// Set in evaluation if utterances go on where they ended: the rows of each are those after its
  /// cached ones. Only layers with channels in LayerPlan::cache_channels read it, and append to it.
  const KeyValueCache* cache = nullptr;
  /// Set for the parts of a unit that attends to a memory (layers/nn/cross_attention.h).
  const AttendedMemory* memory = nullptr;
};

}  // namespace penstock::layers
