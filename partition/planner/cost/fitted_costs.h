#pragma once

#include <string_view>
#include <vector>

#include "partition/layout/layer_sequence.h"
#include "partition/planner/cost/cost_model.h"

namespace penstock::partition {

/// A quantity to which seconds may be proportional. Frames are feature frames, before any stride.
enum class CostTerm {
  constant,
  frames,          // sum over all utterances
  longest,         // frames of the longest utterance: the steps of a recurrence
  frames_squared,  // Σ frames² over utterances: attention
  frames_labels,   // Σ frames * labels over utterances: cross-attention, the lattice of CTC
  labels,          // sum over all utterances: the rows of a decoder's text
  labels_squared,  // Σ labels² over utterances: attention within a text
};

/// Returns "constant", "frames", "longest", "frames_squared", "frames_labels", "labels" or
/// "labels_squared".
std::string_view name_of(CostTerm term);
double value_of(CostTerm term, const MicroBatchLengths& lengths);

/// Returns the terms of each layer. All layers have constant and frames, and recurrences also
/// longest. The others are those by which the layer's counted operations grow with the frames and
/// labels of an utterance.
std::vector<std::vector<CostTerm>> cost_terms(const LayerSequence& sequence,
                                              const layers::BackendSizes& sizes);

/// A FittedCost is a number of seconds as Σ coefficient * term.
struct FittedCost {
  std::vector<CostTerm> terms;
  /// Seconds for one of each term, at least 0. Empty means that the method takes no time.
  std::vector<double> seconds;

  double of(const MicroBatchLengths& lengths) const;
};

/// The fitted costs of one layer.
struct FittedLayer {
  std::string layer;
  FittedCost forward, backward_input, backward_weight;
};

/// The measured seconds of the layers for one micro-batch.
struct MeasuredMicroBatch {
  MicroBatchLengths lengths;
  std::vector<LayerCost> layers;
};

/// Fits every method of every layer to the measurements with fit_cost(). `terms` are those of each
/// layer.
std::vector<FittedLayer> fit_costs(const std::vector<std::vector<CostTerm>>& terms,
                                   const std::vector<MeasuredMicroBatch>& measured);

/// Fits coefficients of at least 0 that minimise the squared relative errors (see
/// fit_non_negative()). Errors are relative to a first fit. Relative to the measured numbers, the
/// low ones among scattered numbers would count for more, and predicted sums would be too small.
/// Numbers of 0 are left out.
FittedCost fit_cost(const std::vector<CostTerm>& terms,
                    const std::vector<MicroBatchLengths>& lengths,
                    const std::vector<double>& seconds);

/// Returns the fitted costs as a cost model.
CostModel fitted_cost_model(std::vector<FittedLayer> layers);

}  // namespace penstock::partition
