#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "layers/layer.h"

namespace penstock::partition {

/// A model: its layers in order, the channels of the frames that enter the first layer, and the
/// hypotheses of each text for which an evaluation that writes texts has room.
struct LayerSequence {
  std::vector<std::unique_ptr<layers::Layer>> layers;
  int features = 0;
  int beam = 1;

  int size() const { return static_cast<int>(layers.size()); }
};

/// MicroBatchLengths holds the lengths of a micro-batch's utterances, on which its costs and its
/// memory depend.
struct MicroBatchLengths {
  std::vector<std::int64_t> frames;       // feature frames of each utterance
  std::vector<std::int64_t> labels = {};  // labels of each utterance; empty: not known
  auto operator<=>(const MicroBatchLengths&) const = default;
};

/// Returns the declaration of the input for utterances of `lengths` feature frames and, where they
/// are known, of `labels`: one matrix of `features` channels in the compute type.
layers::ActivationDecl sequence_input(const LayerSequence& sequence,
                                      std::span<const std::int64_t> lengths,
                                      const layers::BackendSizes& sizes,
                                      std::span<const std::int64_t> labels = {});

/// Returns every layer's plan for a micro-batch of utterances of `lengths` feature frames and,
/// where they are known, of `labels`. Throws ShapeError if layers do not fit each other.
std::vector<layers::LayerPlan> plan_layers(const LayerSequence& sequence,
                                           std::span<const std::int64_t> lengths,
                                           const layers::BackendSizes& sizes,
                                           std::span<const std::int64_t> labels = {});

/// Returns every layer's plan for zero utterances. Its parameters, state and sums depend on the
/// layers alone.
std::vector<layers::LayerPlan> plan_without_frames(const LayerSequence& sequence,
                                                   const layers::BackendSizes& sizes);

/// Returns the place of the first layer that reads labels, or the number of layers if none does.
[[nodiscard]] int first_label_reader(std::span<const layers::LayerPlan> plans);

/// Returns the minimum number of feature frames of an utterance that the model accepts. Throws
/// ShapeError if even 2^26 frames, more than an hour of audio samples, are too few.
std::int64_t min_frames(const LayerSequence& sequence);

/// Returns `frames`, or half as many as often as it takes until the model accepts utterances of
/// twice the result: some have positions for so many frames alone. At least 1.
std::int64_t accepted_frames(const LayerSequence& sequence, std::int64_t frames);

/// Returns the frames of each utterance that enter the first layer that reads labels, usually the
/// loss, or that leave the last layer if none does. With CTC they bound the number of
/// labels of the utterance.
std::vector<std::int64_t> output_frames(const LayerSequence& sequence,
                                        std::span<const std::int64_t> lengths);

/// Returns the activation that leaves the first layer that reads labels, if there are none.
[[nodiscard]] layers::ActivationDecl activation_before_text(const LayerSequence& sequence,
                                                            std::span<const std::int64_t> lengths,
                                                            const layers::BackendSizes& sizes);

/// Returns the rows of each utterance in the matrix with its text, after the first layer that reads
/// labels, without those of labels.
[[nodiscard]] std::vector<std::int64_t> rows_before_text(const LayerSequence& sequence,
                                                         std::span<const std::int64_t> lengths,
                                                         const layers::BackendSizes& sizes);

/// For each layer of a layer sequence, true if it is chosen. Empty means that none is.
using ChosenLayers = std::vector<bool>;

/// A LayerRun is the consecutive layers [first, last).
struct LayerRun {
  int first = 0, last = 0;
  bool operator==(const LayerRun&) const = default;
};

/// Returns the longest runs of chosen layers, in order.
std::vector<LayerRun> runs_of(const ChosenLayers& chosen);

/// Returns the choice among layers [first, last), indexed from `first`.
ChosenLayers chosen_among(const ChosenLayers& chosen, int first, int last);

/// OutputFrames is a cache of output_frames() for single utterances. A longer utterance never
/// leaves fewer frames, so all lengths between two with the same answer have this answer. Layers
/// are planned only for lengths outside such intervals. Not thread-safe.
class OutputFrames {
 public:
  /// `sequence` must outlive this object.
  explicit OutputFrames(const LayerSequence& sequence) : sequence_(sequence) {}

  /// Returns output_frames() of one utterance, and throws as it does.
  std::int64_t of(std::int64_t frames);

 private:
  /// An interval of lengths with the same answer.
  struct Alike {
    std::int64_t min = 0;  // first length of the interval, in frames
    std::int64_t left = 0;
  };

  const LayerSequence& sequence_;
  std::map<std::int64_t, Alike> known_;  // keyed by the last length of the interval
};

}  // namespace penstock::partition
