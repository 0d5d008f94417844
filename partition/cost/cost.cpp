#include "partition/cost/cost.h"

#include <algorithm>
#include <utility>

#include "layers/models/families.h"

namespace penstock::partition {
namespace {

double bytes_of(const std::vector<layers::ParamDecl>& params) {
  double bytes = 0;
  for (const layers::ParamDecl& param : params) {
    bytes += static_cast<double>(layers::element_count(param.shape)) *
             layers::size_of(layers::DType::f32);
  }
  return bytes;
}

/// Memory that a layer keeps for backward besides its input and output.
double bytes_of(const std::vector<layers::SavedDecl>& saved) {
  double bytes = 0;
  for (const layers::SavedDecl& tensor : saved) {
    if (tensor.kind != layers::SavedDecl::Kind::own) continue;
    bytes +=
        static_cast<double>(layers::element_count(tensor.shape)) * layers::size_of(tensor.dtype);
  }
  return bytes;
}

double rate_of(const DeviceRates& rates, layers::Work work) {
  switch (work) {
    case layers::Work::product:
      return rates.product;
    case layers::Work::convolution:
      return rates.convolution;
    case layers::Work::recurrence:
      return rates.recurrence;
    case layers::Work::elementwise:
      break;
  }
  return rates.elementwise;
}

/// Bytes count inputs, outputs, what is saved and parameters.
double seconds_of(double operations, double bytes, layers::Work work, const DeviceRates& rates) {
  return rates.launch + std::max(operations / rate_of(rates, work), bytes / rates.bandwidth);
}

double bytes_of(const layers::ActivationDecl& input, const layers::LayerPlan& plan) {
  return static_cast<double>(input.bytes()) + static_cast<double>(plan.output.bytes()) +
         bytes_of(plan.saved) + bytes_of(plan.params);
}

/// As if it all were one operation.
LayerCost cost_of(const layers::ActivationDecl& input, const layers::LayerPlan& plan,
                  const DeviceRates& rates) {
  const double bytes = bytes_of(input, plan);
  const auto seconds = [&](double operations) {
    return seconds_of(operations, bytes, plan.work, rates);
  };
  LayerCost cost;
  cost.forward = seconds(plan.flops.forward);
  if (plan.runs_backward()) cost.backward_input = seconds(plan.flops.backward_input);
  if (plan.trained()) cost.backward_weight = seconds(plan.flops.backward_weight);
  return cost;
}

using Parts = std::vector<layers::ResidualPart>;

/// Of a residual unit that is given `input`: what its parts take, one after the other, and the sum
/// of their output and the input. Of another layer, which has no parts, as one operation.
LayerCost cost_of(const Parts& parts, const layers::ActivationDecl& input,
                  const layers::LayerPlan& layer, const DeviceRates& rates) {
  if (parts.empty()) return cost_of(input, layer, rates);
  const double add =
      seconds_of(0, 3.0 * static_cast<double>(input.bytes()), layers::Work::elementwise, rates);
  LayerCost sum{.layer = {}, .forward = add, .backward_input = add};
  for (const layers::ResidualPart& part : parts) {
    const LayerCost cost = cost_of(part.input, part.plan, rates);
    sum.forward += cost.forward;
    sum.backward_input += cost.backward_input;
    sum.backward_weight += cost.backward_weight;
  }
  if (!layer.runs_backward()) sum.backward_input = 0;
  if (!layer.trained()) sum.backward_weight = 0;
  return sum;
}

/// Of parts that a unit's backward runs forward again.
double remaking_of(const Parts& parts, const DeviceRates& rates) {
  double seconds = 0;
  for (const layers::ResidualPart& part : parts)
    if (part.remade) seconds += cost_of(part.input, part.plan, rates).forward;
  return seconds;
}

/// Of a GPU: tensor cores multiply TF32 half as fast as halves, and FP32 not at all.
double product_rate(const layers::BackendSizes& sizes) {
  if (layers::size_of(sizes.compute) <= 2) return 400e12;
  return sizes.products == layers::Fp32Products::tf32 ? 200e12 : 40e12;
}

}  // namespace

DeviceRates default_rates(const layers::BackendSizes& sizes) {
  if (sizes.device == layers::DeviceKind::cpu) {
    return {.product = 70e9,
            .convolution = 500e9,
            .recurrence = 40e9,
            .elementwise = 4e9,
            .bandwidth = 8e9,
            .launch = 1e-6};
  }
  const double product = product_rate(sizes);
  return {.product = product,
          .convolution = product / 2,
          .recurrence = product / 10,
          .elementwise = 10e12,
          .bandwidth = 2e12,
          .launch = 10e-6};
}

LinkRates default_link(const layers::BackendSizes& sizes) {
  if (sizes.device == layers::DeviceKind::cpu) return {.latency = 5e-6, .bandwidth = 3e9};
  return {.latency = 10e-6, .bandwidth = 200e9};
}

std::vector<LayerCost> analytic_costs(const LayerSequence& sequence,
                                      std::span<const std::int64_t> lengths,
                                      const layers::BackendSizes& sizes, const DeviceRates& rates) {
  layers::ActivationDecl input = sequence_input(sequence, lengths, sizes);
  std::vector<LayerCost> costs;
  for (const auto& layer : sequence.layers) {
    layers::LayerPlan plan = layer->plan(input, sizes);
    const Parts parts = layers::parts_of(*layer, input, sizes);
    LayerCost& cost = costs.emplace_back(cost_of(parts, input, plan, rates));
    cost.layer = layer->name();
    if (costs.size() == 1) cost.backward_input = 0;
    if (plan.runs_backward()) cost.backward_input += remaking_of(parts, rates);
    input = std::move(plan.output);
  }
  return costs;
}

std::vector<double> remaking_seconds(const LayerSequence& sequence,
                                     std::span<const std::int64_t> lengths,
                                     const layers::BackendSizes& sizes, const DeviceRates& rates) {
  layers::ActivationDecl input = sequence_input(sequence, lengths, sizes);
  std::vector<double> seconds;
  for (const auto& layer : sequence.layers) {
    layers::LayerPlan plan = layer->plan(input, sizes);
    seconds.push_back(
        plan.runs_backward() ? remaking_of(layers::parts_of(*layer, input, sizes), rates) : 0);
    input = std::move(plan.output);
  }
  return seconds;
}

double training_flops(const LayerSequence& sequence, std::span<const std::int64_t> lengths) {
  double flops = 0, of_features = 0;
  for (const layers::LayerPlan& plan : plan_layers(sequence, lengths, {})) {
    if (flops == 0) of_features = plan.flops.backward_input;
    flops += plan.flops.forward + plan.flops.backward_input + plan.flops.backward_weight;
  }
  return flops - of_features;
}

std::vector<double> transfer_costs(const LayerSequence& sequence,
                                   std::span<const std::int64_t> lengths,
                                   const layers::BackendSizes& sizes, const LinkRates& link) {
  std::vector<double> seconds;
  for (const layers::LayerPlan& plan : plan_layers(sequence, lengths, sizes)) {
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
