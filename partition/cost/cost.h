#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "partition/cost/device_rates.h"
#include "partition/model/layer_runs.h"
#include "partition/model/layer_sequence.h"

namespace penstock::partition {

/// Seconds that one micro-batch takes in one layer, computed from rates or measured.
struct LayerCost {
  std::string layer;
  double forward = 0, backward_input = 0, backward_weight = 0;

  double total() const { return forward + backward_input + backward_weight; }
  /// Of a second forward: none where the layer has no backward.
  double recomputed() const { return backward_input + backward_weight > 0 ? forward : 0; }
};

/// What a link between two ranks achieves.
struct LinkRates {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes a second
};

/// Shared memory on the CPU, links of one node between GPUs.
LinkRates default_link(const layers::BackendSizes& sizes);

/// What each layer's backward takes to run parts of its own forward again: residual units that
/// remake (layers/nn/residual.h).
std::vector<double> remaking_seconds(const LayerSequence& sequence,
                                     std::span<const std::int64_t> lengths,
                                     const layers::BackendSizes& sizes, const DeviceRates& rates);

/// A method takes launch + max(arithmetic, bytes / bandwidth) (Williams et al. 2009), where bytes
/// count inputs, outputs, what is saved and parameters once. Arithmetic is operations / rate, but
/// for products and convolutions product_seconds() and for recurrences recurrence_seconds(), with
/// the gradient of their weights as one product over all frames. A residual unit takes what its
/// parts and the sum behind them do. Nobody asks for the gradient of the features. The gradient of
/// a layer's input takes its remaking_seconds() besides. `labels` of each utterance count in the
/// CTC loss; empty: as many as are usual. Layers of one of `kinds` (layer_kinds()) are priced once;
/// empty: each is.
std::vector<LayerCost> analytic_costs(const LayerSequence& sequence,
                                      std::span<const std::int64_t> lengths,
                                      const layers::BackendSizes& sizes, const DeviceRates& rates,
                                      std::span<const std::int64_t> labels = {},
                                      std::span<const int> kinds = {});

/// Operations of such a micro-batch in training, forward and both backwards; nobody asks for the
/// gradient of the features.
double training_flops(const LayerSequence& sequence, std::span<const std::int64_t> lengths);

/// For each layer, seconds to send its output to another rank and to get its gradient back.
std::vector<double> transfer_costs(const LayerSequence& sequence,
                                   std::span<const std::int64_t> lengths,
                                   const layers::BackendSizes& sizes, const LinkRates& link);

/// Costs with activation recomputation, which goes before the gradient of the layer's input.
std::vector<LayerCost> with_recomputation(std::vector<LayerCost> costs, const ChosenLayers& chosen);

}  // namespace penstock::partition
