#include "partition/planner/cost/fitted_costs.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "partition/planner/cost/non_negative_fit.h"

namespace penstock::partition {
namespace {

// Length at which the growth of operations is measured, in multiples of the shortest utterance, and
// frames for each label, of which speech has 5 to 20.
constexpr std::int64_t kFrames = 1000;
constexpr std::int64_t kFramesPerLabel = 10;
// A term has at least this share of a layer's operations.
constexpr double kLeast = 0.05;

/// Returns each layer's operations, of forward and both backwards, for one utterance.
std::vector<double> operations(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                               std::int64_t frames, std::int64_t labels) {
  std::vector<double> all;
  for (const layers::LayerPlan& plan :
       plan_layers(sequence, std::array{frames}, sizes, std::array{labels}))
    all.push_back(plan.flops.forward + plan.flops.backward_input + plan.flops.backward_weight);
  return all;
}

}  // namespace

std::string_view name_of(CostTerm term) {
  constexpr std::array<std::string_view, 7> kNames = {"constant",       "frames",        "longest",
                                                      "frames_squared", "frames_labels", "labels",
                                                      "labels_squared"};
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
  const auto labels = [&](std::size_t u) {
    return lengths.labels.empty() ? 0 : static_cast<double>(lengths.labels[u]);
  };
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
      return sum([&](std::size_t u) { return frames(u) * labels(u); });
    case CostTerm::labels:
      return sum(labels);
    case CostTerm::labels_squared:
      return sum([&](std::size_t u) { return labels(u) * labels(u); });
  }
  return 0;
}

// With F frames and L labels, a layer has c + f F + l L + p F² + q F L + r L² operations.
// Differences between lengths, each twice or three times another, give the share of each term. A
// layer keeps frames without operations too, since all read and write their rows.
std::vector<std::vector<CostTerm>> cost_terms(const LayerSequence& sequence,
                                              const layers::BackendSizes& sizes) {
  const std::int64_t F = accepted_frames(sequence, kFrames * min_frames(sequence)) / 2;
  const std::int64_t most = activation_before_text(sequence, std::array{F}, sizes).most_labels;
  const std::int64_t usual = std::max<std::int64_t>(1, F / kFramesPerLabel);
  const std::int64_t L = most > 0 ? std::clamp<std::int64_t>(most / 3, 1, usual) : usual;
  const auto at = [&](std::int64_t frames, std::int64_t labels) {
    return operations(sequence, sizes, frames * F, labels * L);
  };
  const auto once = at(1, 1), frames_2 = at(2, 1), frames_3 = at(3, 1), labels_2 = at(1, 2),
             labels_3 = at(1, 3), both = at(2, 2);
  const auto plans = plan_without_frames(sequence, sizes);
  std::vector<std::vector<CostTerm>> all;
  for (std::size_t i = 0; i < once.size(); ++i) {
    auto& terms = all.emplace_back(std::vector{CostTerm::constant, CostTerm::frames});
    const double frames_squared = (frames_3[i] - 2 * frames_2[i] + once[i]) / 2;
    const double labels_squared = (labels_3[i] - 2 * labels_2[i] + once[i]) / 2;
    const double frames_labels = both[i] - frames_2[i] - labels_2[i] + once[i];
    const double labels = labels_2[i] - once[i] - frames_labels - 3 * labels_squared;
    if (plans[i].work == layers::Work::recurrence) terms.push_back(CostTerm::longest);
    const auto add = [&](CostTerm term, double share) {
      if (share > kLeast * once[i]) terms.push_back(term);
    };
    add(CostTerm::frames_squared, frames_squared);
    add(CostTerm::frames_labels, frames_labels);
    add(CostTerm::labels, labels);
    add(CostTerm::labels_squared, labels_squared);
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
