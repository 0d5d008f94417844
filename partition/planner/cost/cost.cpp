#include "partition/planner/cost/cost.h"

#include <algorithm>
#include <map>
#include <utility>

#include "layers/models/families.h"
#include "partition/planner/cost/operation_seconds.h"

namespace penstock::partition {
namespace {

// Prices each layer by the roofline model; see analytic_costs() in cost.h. Products, convolutions
// and recurrences have refined arithmetic times (operation_seconds.h).

/// Returns the bytes that a layer keeps for backward, without its input and output.
double bytes_of(const std::vector<layers::SavedDecl>& saved) {
  double bytes = 0;
  for (const layers::SavedDecl& tensor : saved) {
    if (tensor.kind != layers::SavedDecl::Kind::own) continue;
    bytes +=
        static_cast<double>(layers::element_count(tensor.shape)) * layers::size_of(tensor.dtype);
  }
  return bytes;
}

/// Returns the seconds of one method: the slower of its arithmetic and its traffic, after its
/// launch.
double seconds_of(double arithmetic, double bytes, const DeviceRates& rates) {
  return rates.launch + std::max(arithmetic, bytes / rates.bandwidth);
}

/// Returns the bytes of the parameters as layers read them, in the compute type.
double parameter_bytes_of(const layers::LayerPlan& plan, const layers::BackendSizes& sizes) {
  double bytes = 0;
  for (const layers::ParamDecl& param : plan.params)
    bytes += static_cast<double>(layers::element_count(param.shape)) *
             layers::size_of(param.full_precision ? layers::DType::f32 : sizes.compute);
  return bytes;
}

/// Arithmetic computes the arithmetic time of a layer that has no parts.
class Arithmetic {
 public:
  Arithmetic(const layers::ActivationDecl& input, const layers::LayerPlan& plan,
             const layers::BackendSizes& sizes, const DeviceRates& rates)
      : input_(input), plan_(plan), sizes_(sizes), rates_(rates) {}

  LayerCost seconds() const {
    switch (plan_.work) {
      case layers::Work::product:
        return of_product(rates_.product);
      case layers::Work::convolution:
        return of_convolution();
      case layers::Work::recurrence:
        return of_recurrence();
      case layers::Work::attention:
        return at_rate(rates_.attention > 0 ? rates_.attention : rates_.product);
      case layers::Work::elementwise:
        break;
    }
    return at_rate(rates_.elementwise);
  }

 private:
  LayerCost at_rate(double rate) const {
    const layers::Flops& flops = plan_.flops;
    return {.layer = {},
            .forward = flops.forward / rate,
            .backward_input = flops.backward_input / rate,
            .backward_weight = flops.backward_weight / rate};
  }

  /// Returns the shape of the largest parameter: [outputs, …], or for a recurrence [directions,
  /// gates * hidden, hidden].
  const layers::Shape& weight() const {
    return std::ranges::max_element(
               plan_.params, {},
               [](const layers::ParamDecl& param) { return layers::element_count(param.shape); })
        ->shape;
  }

  /// Prices the product with the weight. The number of rows follows from the counted operations.
  LayerCost of_product(double rate) const {
    const layers::Shape& weight = this->weight();
    const auto outputs = static_cast<double>(weight.front()),
               inputs = static_cast<double>(layers::element_count(weight)) / outputs;
    // A forward of `rows` rows takes 2 · rows · outputs · inputs operations. The gradient of the
    // input multiplies [rows, outputs] by the weight, and that of the weight sums over all rows.
    const double rows = plan_.flops.forward / (2 * outputs * inputs);
    // An adapted product (layers/nn/lora_linear.h) has small products alone for weight gradients.
    const double share = plan_.flops.backward_weight / plan_.flops.forward;
    return {.layer = {},
            .forward = product_seconds({rows, outputs, inputs}, rate, rates_),
            .backward_input = product_seconds({rows, inputs, outputs}, rate, rates_),
            .backward_weight = share * product_seconds({outputs, inputs, rows}, rate, rates_)};
  }

  /// Prices a convolution as the product that it is after im2col: a row for each output position,
  /// and an inner index over channels and taps. A depthwise convolution has one channel for each
  /// output, so no tile of a product fits it, and its counted operations are taken at the rate
  /// alone.
  LayerCost of_convolution() const {
    const layers::Shape& weight = this->weight();
    // A depthwise convolution over frames has the weight [channels, 1, kernel].
    const bool depthwise =
        weight.size() == 3 && weight[1] == 1 && weight[0] == input_.only().channels;
    return depthwise ? at_rate(rates_.convolution) : of_product(rates_.convolution);
  }

  /// Prices a recurrence. Forward and backward_input go step by step. The weight gradient is one
  /// product for each direction.
  LayerCost of_recurrence() const {
    const layers::Shape& weight = this->weight();
    // The largest parameter is the recurrent weight. Each of its numbers multiplies one number of
    // the hidden state for each frame, which is two operations.
    const auto frames = static_cast<double>(input_.only().rows());
    const double numbers = static_cast<double>(layers::element_count(weight));
    const RecurrenceWork work{.weight_bytes = numbers * layers::size_of(sizes_.compute),
                              .frame_operations = 2 * numbers};
    const double steps = recurrence_seconds(work, input_.only().lengths, rates_);
    const ProductShape gradient{static_cast<double>(weight[1]), static_cast<double>(weight[2]),
                                frames};
    return {.layer = {},
            .forward = steps,
            .backward_input = steps,
            .backward_weight =
                static_cast<double>(weight[0]) * product_seconds(gradient, rates_.product, rates_)};
  }

  const layers::ActivationDecl& input_;
  const layers::LayerPlan& plan_;
  const layers::BackendSizes& sizes_;
  const DeviceRates& rates_;
};

/// Prices the layer as a single operation.
LayerCost cost_of(const layers::ActivationDecl& input, const layers::LayerPlan& plan,
                  const layers::BackendSizes& sizes, const DeviceRates& rates) {
  const double bytes = static_cast<double>(input.bytes()) +
                       static_cast<double>(plan.output.bytes()) + bytes_of(plan.saved) +
                       parameter_bytes_of(plan, sizes);
  const LayerCost arithmetic = Arithmetic(input, plan, sizes, rates).seconds();
  LayerCost cost;
  cost.forward = seconds_of(arithmetic.forward, bytes, rates);
  if (plan.runs_backward())
    cost.backward_input = seconds_of(arithmetic.backward_input, bytes, rates);
  if (plan.trained()) cost.backward_weight = seconds_of(arithmetic.backward_weight, bytes, rates);
  return cost;
}

using Parts = std::vector<layers::ResidualPart>;

/// Prices a layer with the given `input`. A residual unit costs the sum of its parts, plus the
/// addition of their output and the input. A layer without parts is one operation.
LayerCost cost_of(const Parts& parts, const layers::ActivationDecl& input,
                  const layers::LayerPlan& layer, const layers::BackendSizes& sizes,
                  const DeviceRates& rates) {
  if (parts.empty()) return cost_of(input, layer, sizes, rates);
  // The addition reads the input and the parts' output, and writes the sum. Its backward adds the
  // two gradients in the same way.
  const double add = seconds_of(0, 3.0 * static_cast<double>(input.bytes()), rates);
  LayerCost sum{.layer = {}, .forward = add, .backward_input = add};
  for (const layers::ResidualPart& part : parts) {
    const LayerCost cost = cost_of(part.input, part.plan, sizes, rates);
    sum.forward += cost.forward;
    sum.backward_input += cost.backward_input;
    sum.backward_weight += cost.backward_weight;
  }
  if (!layer.runs_backward()) sum.backward_input = 0;
  if (!layer.trained()) sum.backward_weight = 0;
  return sum;
}

/// Returns the seconds of the parts that a unit's backward recomputes.
double recompute_of(const Parts& parts, const layers::BackendSizes& sizes,
                    const DeviceRates& rates) {
  double seconds = 0;
  for (const layers::ResidualPart& part : parts)
    if (part.recomputed) seconds += cost_of(part.input, part.plan, sizes, rates).forward;
  return seconds;
}

}  // namespace

// The links of both backends are round numbers, for plans without a cluster file. Rates that
// libraries reach on known links are in docs/cluster-file.md.
LinkRates default_link(const layers::BackendSizes& sizes) {
  if (sizes.device == layers::DeviceKind::cpu) return {.latency = 5e-6, .bandwidth = 3e9};
  return {.latency = 15e-6, .bandwidth = 200e9};
}

// The layers are planned one after another, as each needs its predecessor's output as its input.
// Layers of a kind have the same cost and the same output, so a copy of both replaces the planning.
std::vector<LayerCost> analytic_costs(const LayerSequence& sequence,
                                      std::span<const std::int64_t> lengths,
                                      const layers::BackendSizes& sizes, const DeviceRates& rates,
                                      std::span<const std::int64_t> labels,
                                      std::span<const int> kinds) {
  layers::ActivationDecl input = sequence_input(sequence, lengths, sizes, labels);
  std::vector<LayerCost> costs;
  // Keyed by kind: the cost, and the activation that enters the next layer.
  std::map<int, std::pair<LayerCost, layers::ActivationDecl>> known;
  for (const auto& layer : sequence.layers) {
    const auto same = kinds.empty() ? known.end() : known.find(kinds[costs.size()]);
    if (same != known.end()) {
      costs.push_back(same->second.first);
      costs.back().layer = layer->name();
      input = same->second.second;
      continue;
    }
    const layers::LayerPlan plan = layer->plan(input, sizes);
    const Parts parts = layers::parts_of(*layer, input, sizes);
    LayerCost& cost = costs.emplace_back(cost_of(parts, input, plan, sizes, rates));
    cost.layer = layer->name();
    // Nobody needs the gradient of the features. The recomputation is added all the same: weight
    // gradients of a first residual unit read what it makes.
    if (costs.size() == 1) cost.backward_input = 0;
    if (plan.runs_backward()) cost.backward_input += recompute_of(parts, sizes, rates);
    input = layers::next_input(input, plan);
    if (!kinds.empty()) known.emplace(kinds[costs.size() - 1], std::pair(cost, input));
  }
  return costs;
}

std::vector<double> recompute_seconds(const LayerSequence& sequence,
                                      const MicroBatchLengths& lengths,
                                      const layers::BackendSizes& sizes, const DeviceRates& rates) {
  layers::ActivationDecl input = sequence_input(sequence, lengths.frames, sizes, lengths.labels);
  std::vector<double> seconds;
  for (const auto& layer : sequence.layers) {
    const layers::LayerPlan plan = layer->plan(input, sizes);
    seconds.push_back(plan.runs_backward()
                          ? recompute_of(layers::parts_of(*layer, input, sizes), sizes, rates)
                          : 0);
    input = layers::next_input(input, plan);
  }
  return seconds;
}

// The first layer with any operations is the one whose input gradient would be that of the
// features.
double training_flops(const LayerSequence& sequence, std::span<const std::int64_t> lengths,
                      std::span<const std::int64_t> labels) {
  double flops = 0, of_features = 0;
  for (const layers::LayerPlan& plan : plan_layers(sequence, lengths, {}, labels)) {
    if (flops == 0) of_features = plan.flops.backward_input;
    flops += plan.flops.forward + plan.flops.backward_input + plan.flops.backward_weight;
  }
  return flops - of_features;
}

std::vector<double> transfer_costs(const LayerSequence& sequence, const MicroBatchLengths& lengths,
                                   const layers::BackendSizes& sizes, const LinkRates& link) {
  std::vector<double> seconds;
  for (const layers::LayerPlan& plan :
       plan_layers(sequence, lengths.frames, sizes, lengths.labels)) {
    // The gradient that comes back is as large as the output.
    const auto bytes = static_cast<double>(plan.output.bytes());
    seconds.push_back(2 * (link.latency + bytes / link.bandwidth));
  }
  return seconds;
}

std::vector<LayerCost> with_recomputation(std::vector<LayerCost> costs,
                                          const ChosenLayers& chosen) {
  for (std::size_t layer = 0; layer < chosen.size(); ++layer)
    if (chosen[layer]) costs[layer].backward_input += costs[layer].recomputed();
  return costs;
}

}  // namespace penstock::partition
