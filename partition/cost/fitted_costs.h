#pragma once

#include <string_view>
#include <vector>

#include "partition/cost/cost_model.h"
#include "partition/model/layer_sequence.h"

namespace penstock::partition {

/// What seconds may be proportional to. Frames are those of the features, before any stride.
enum class CostTerm {
  constant,
  frames,          // of all utterances
  longest,         // frames of the longest utterance: the steps of a recurrence
  frames_squared,  // Σ frames² over utterances: attention
  frames_labels,   // Σ frames · labels over utterances: CTC's lattice
};

/// "constant", "frames", "longest", "frames_squared", "frames_labels"
std::string_view name_of(CostTerm term);
double value_of(CostTerm term, const MicroBatchLengths& lengths);

/// Terms that a layer's kind of work asks for: all have constant and frames, recurrences longest,
/// what reads labels frames_labels, and layers whose counted operations grow faster than the frames
/// of an utterance frames_squared.
std::vector<std::vector<CostTerm>> cost_terms(const LayerSequence& sequence,
                                              const layers::BackendSizes& sizes);

/// Seconds as Σ coefficient · term.
struct FittedCost {
  std::vector<CostTerm> terms;
  std::vector<double> seconds;  // for one of each term, at least 0; empty: it takes none

  double of(const MicroBatchLengths& lengths) const;
};

/// Of one layer.
struct FittedLayer {
  std::string layer;
  FittedCost forward, backward_input, backward_weight;
};

/// What the layers took for one micro-batch.
struct MeasuredMicroBatch {
  MicroBatchLengths lengths;
  std::vector<LayerCost> layers;
};

/// Fits every layer and method to what was measured, as fit_cost(). `terms` of each layer.
std::vector<FittedLayer> fit_costs(const std::vector<std::vector<CostTerm>>& terms,
                                   const std::vector<MeasuredMicroBatch>& measured);

/// Coefficients of at least 0 with the least relative errors squared (fit_non_negative), relative
/// to what a first fit says: relative to the numbers themselves, the low ones among scattered ones
/// would count for more, and sums be predicted too small. Numbers of 0 are left out.
FittedCost fit_cost(const std::vector<CostTerm>& terms,
                    const std::vector<MicroBatchLengths>& lengths,
                    const std::vector<double>& seconds);

CostModel fitted_cost_model(std::vector<FittedLayer> layers);

}  // namespace penstock::partition
