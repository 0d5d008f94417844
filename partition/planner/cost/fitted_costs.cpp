#include "partition/planner/cost/fitted_costs.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "partition/planner/cost/non_negative_fit.h"

namespace penstock::partition {
namespace {

// Test length, in multiples of the shortest utterance, at which the growth of operations is
// measured.
constexpr std::int64_t kFrames = 1000;
// Operations that grow by more than this when frames double are not linear.
constexpr double kFaster = 2.5;

/// Returns the operations of forward and both backwards.
double operations(const layers::LayerPlan& plan) {
  return plan.flops.forward + plan.flops.backward_input + plan.flops.backward_weight;
}

}  // namespace

std::string_view name_of(CostTerm term) {
  constexpr std::array<std::string_view, 5> kNames = {"constant", "frames", "longest",
                                                      "frames_squared", "frames_labels"};
  return kNames.at(static_cast<std::size_t>(term));
}

// Terms are raw numbers, not scaled to each other: fit_non_negative() scales its columns.
double value_of(CostTerm term, const MicroBatchLengths& lengths) {
  const auto sum = [&](auto of_utterance) {
    double total = 0;
    for (std::size_t u = 0; u < lengths.frames.size(); ++u) total += of_utterance(u);
    return total;
  };
  const auto frames = [&](std::size_t u) { return static_cast<double>(lengths.frames[u]); };
  switch (term) {
    case CostTerm::constant:
      return 1;
    case CostTerm::frames:
      return sum(frames);
    case CostTerm::longest:
      return lengths.frames.empty() ? 0 : static_cast<double>(std::ranges::max(lengths.frames));
    case CostTerm::frames_squared:
      return sum([&](std::size_t u) { return frames(u) * frames(u); });
    case CostTerm::frames_labels:
      if (lengths.labels.empty()) return 0;
      return sum([&](std::size_t u) { return frames(u) * static_cast<double>(lengths.labels[u]); });
  }
  return 0;
}

std::vector<std::vector<CostTerm>> cost_terms(const LayerSequence& sequence,
                                              const layers::BackendSizes& sizes) {
  // Every layer has frames left at this length. At twice the length a linear layer has twice the
  // operations, and attention up to four times.
  const std::int64_t frames = accepted_frames(sequence, kFrames * min_frames(sequence));
  const auto once = plan_layers(sequence, std::vector<std::int64_t>{frames}, sizes);
  const auto twice = plan_layers(sequence, std::vector<std::int64_t>{2 * frames}, sizes);
  std::vector<std::vector<CostTerm>> all;
  for (std::size_t i = 0; i < once.size(); ++i) {
    auto& terms = all.emplace_back(std::vector{CostTerm::constant, CostTerm::frames});
    if (once[i].work == layers::Work::recurrence) terms.push_back(CostTerm::longest);
    if (once[i].needs_targets)
      terms.push_back(CostTerm::frames_labels);
    else if (operations(twice[i]) > kFaster * operations(once[i]))
      terms.push_back(CostTerm::frames_squared);
  }
  return all;
}

double FittedCost::of(const MicroBatchLengths& lengths) const {
  double sum = 0;
  for (std::size_t k = 0; k < seconds.size(); ++k) sum += seconds[k] * value_of(terms[k], lengths);
  return sum;
}

FittedCost fit_cost(const std::vector<CostTerm>& terms,
                    const std::vector<MicroBatchLengths>& lengths,
                    const std::vector<double>& seconds) {
  Observations observed;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (seconds[i] <= 0) continue;  // a pass that the layer does not have
    auto& row = observed.terms.emplace_back();
    for (const CostTerm term : terms) row.push_back(value_of(term, lengths[i]));
    observed.values.push_back(seconds[i]);
  }
  // The first fit takes errors relative to the measured seconds, the second relative to what the
  // first fitted. A layer without this method has no observation, and no cost.
  FittedCost cost{terms, fit_non_negative(observed)};
  if (cost.seconds.empty()) return {};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (seconds[i] <= 0) continue;
    const double fitted = cost.of(lengths[i]);
    observed.scales.push_back(fitted > 0 ? fitted : seconds[i]);
  }
  cost.seconds = fit_non_negative(observed);
  return cost;
}

std::vector<FittedLayer> fit_costs(const std::vector<std::vector<CostTerm>>& terms,
                                   const std::vector<MeasuredMicroBatch>& measured) {
  std::vector<MicroBatchLengths> lengths;
  for (const MeasuredMicroBatch& m : measured) lengths.push_back(m.lengths);
  std::vector<FittedLayer> fitted;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto fit = [&](double LayerCost::*method) {
      std::vector<double> seconds;
      for (const MeasuredMicroBatch& m : measured) seconds.push_back(m.layers[i].*method);
      return fit_cost(terms[i], lengths, seconds);
    };
    fitted.push_back({measured.empty() ? "" : measured.front().layers[i].layer,
                      fit(&LayerCost::forward), fit(&LayerCost::backward_input),
                      fit(&LayerCost::backward_weight)});
  }
  return fitted;
}

CostModel fitted_cost_model(std::vector<FittedLayer> layers) {
  return [layers = std::move(layers)](const MicroBatchLengths& lengths) {
    std::vector<LayerCost> costs;
    for (const FittedLayer& layer : layers)
      costs.push_back({layer.layer, layer.forward.of(lengths), layer.backward_input.of(lengths),
                       layer.backward_weight.of(lengths)});
    return costs;
  };
}

}  // namespace penstock::partition
