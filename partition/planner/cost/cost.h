#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "partition/layout/layer_sequence.h"
#include "partition/planner/cost/device_rates.h"

namespace penstock::partition {

/// A LayerCost holds the seconds of one micro-batch in one layer, computed from rates or measured.
struct LayerCost {
  std::string layer;
  double forward = 0, backward_input = 0, backward_weight = 0;

  double total() const { return forward + backward_input + backward_weight; }
  /// Returns the seconds of recomputing forward: 0 if the layer has no backward.
  double recomputed() const { return backward_input + backward_weight > 0 ? forward : 0; }
};

/// The measured or assumed performance of a link between two ranks.
struct LinkRates {
  double latency = 0;    // in seconds
  double bandwidth = 0;  // bytes per second
};

/// Returns the rates of shared memory on the CPU, or of the links between the GPUs of one node.
LinkRates default_link(const layers::BackendSizes& sizes);

/// Returns, for each layer, the seconds in which backward recomputes parts of its own forward. Only
/// residual units do so (layers/nn/residual.h).
std::vector<double> recompute_seconds(const LayerSequence& sequence,
                                      const MicroBatchLengths& lengths,
                                      const layers::BackendSizes& sizes, const DeviceRates& rates);

/// Prices each layer by the roofline model (Williams et al. 2009). A method takes launch +
/// max(arithmetic, bytes / bandwidth) seconds. The bytes are inputs, outputs, saved tensors and
/// parameters, each counted once.
///
/// Arithmetic is operations / rate. Exceptions are products and convolutions, see
/// product_seconds(), and recurrences, see recurrence_seconds(), whose weight gradient is one
/// product over all frames. A residual unit costs the sum of its parts and its addition, and its
/// recompute_seconds() count to backward_input. The first layer has no backward_input, as nothing
/// needs the gradient of the features.
///
/// `labels` of each utterance count in the loss; empty means a usual number. Layers of the same
/// kind in `kinds` (see layer_kinds()) are priced once; empty means that each layer is priced.
std::vector<LayerCost> analytic_costs(const LayerSequence& sequence,
                                      std::span<const std::int64_t> lengths,
                                      const layers::BackendSizes& sizes, const DeviceRates& rates,
                                      std::span<const std::int64_t> labels = {},
                                      std::span<const int> kinds = {});

/// Returns the operations of a micro-batch in training: forward and both backwards, without the
/// gradient of the features.
double training_flops(const LayerSequence& sequence, std::span<const std::int64_t> lengths,
                      std::span<const std::int64_t> labels = {});

/// Returns, for each layer, the seconds to send its output to another rank and to receive its
/// gradient.
std::vector<double> transfer_costs(const LayerSequence& sequence, const MicroBatchLengths& lengths,
                                   const layers::BackendSizes& sizes, const LinkRates& link);

/// Adds the recomputation of the chosen layers to their backward_input.
std::vector<LayerCost> with_recomputation(std::vector<LayerCost> costs, const ChosenLayers& chosen);

}  // namespace penstock::partition
