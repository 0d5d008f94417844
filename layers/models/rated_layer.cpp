#include "layers/models/rated_layer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "layers/nn/inner_layer.h"
#include "layers/nn/residual.h"

// The wrapper computes nothing. Its plan states what need not be computed, which follows from the
// layer's parameters and from what precedes it in the sequence:
//   parameters   before it     what runs backward
//   trained      trained       both methods
//   trained      all frozen    both methods; dx only if backward_weight reads it
//   all frozen   trained       backward_input alone
//   all frozen   all frozen    nothing
// A layer counts as frozen only if all its parameters are: gradients of single frozen parameters
// are computed and not applied. A residual unit is not one layer here: rate_layer() wraps each of
// its parts.

namespace penstock::layers {

namespace {

/// Returns true if backward_weight reads the gradient of the layer's input.
bool reads_it_again(const LayerPlan& plan) {
  return std::ranges::any_of(plan.saved, [](const SavedDecl& saved) {
    return saved.kind == SavedDecl::Kind::input_gradient;
  });
}

/// Removes what only backward_weight needs.
void spare_weight_gradients(LayerPlan& plan) {
  plan.flops.backward_weight = 0;
  plan.workspace.backward_weight = 0;
  for (ParamDecl& param : plan.params) param.summed = false;
  for (SavedDecl& saved : plan.saved)
    if (saved.for_weights) saved.kind = SavedDecl::Kind::none;
}

}  // namespace

void rate_layer(std::unique_ptr<Layer>& layer, RatedLayer::Rates rates) {
  if (auto* const unit = dynamic_cast<Residual*>(layer.get())) {
    std::span<const double> left = rates.of_parameters;
    unit->replace_parts([&](std::unique_ptr<Layer> part, std::size_t parameters) {
      const std::span<const double> own = left.first(parameters);
      left = left.subspan(parameters);
      if (own.empty()) return part;
      return std::unique_ptr<Layer>(std::make_unique<RatedLayer>(
          std::move(part), RatedLayer::Rates{{own.begin(), own.end()}, true}));
    });
  }
  if (auto* const holder = dynamic_cast<HoldsLayers*>(layer.get())) {
    std::span<const double> left = rates.of_parameters;
    for (InnerLayer* const inner : holder->inner()) {
      const std::span<const double> own = left.first(inner->parameters());
      left = left.subspan(own.size());
      if (!own.empty()) rate_layer(inner->replaceable(), {{own.begin(), own.end()}, true});
    }
  }
  layer = std::make_unique<RatedLayer>(std::move(layer), std::move(rates));
}

const Layer& unrated(const Layer& layer) {
  const auto* const rated = dynamic_cast<const RatedLayer*>(&layer);
  return rated != nullptr ? rated->rated() : layer;
}

RatedLayer::RatedLayer(std::unique_ptr<Layer> layer, Rates rates)
    : layer_(std::move(layer)), rates_(std::move(rates)) {}

LayerPlan RatedLayer::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  LayerPlan plan = layer_->plan(input, sizes);
  for (std::size_t i = 0; i < plan.params.size(); ++i)
    plan.params[i].rate = rates_.of_parameters.at(i);
  plan.passes_gradient = rates_.passes_gradient || (plan.trained() && reads_it_again(plan));
  if (!plan.trained()) spare_weight_gradients(plan);
  if (plan.runs_backward()) return plan;
  plan.flops.backward_input = 0;
  plan.workspace.backward_input = 0;
  return plan;
}

void RatedLayer::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                         Saved saved) const {
  layer_->forward(context, params, x, y, saved);
}

void RatedLayer::backward_input(Context& context, const Params& params, const Activation& dy,
                                Saved saved, Activation& dx) const {
  layer_->backward_input(context, params, dy, saved, dx);
}

void RatedLayer::backward_weight(Context& context, Saved saved, Grads grads) const {
  layer_->backward_weight(context, saved, grads);
}

void RatedLayer::commit_state(Context& context, std::span<const double> sums,
                              std::span<const Tensor> state) const {
  layer_->commit_state(context, sums, state);
}

}  // namespace penstock::layers
