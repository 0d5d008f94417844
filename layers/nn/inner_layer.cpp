#include "layers/nn/inner_layer.h"

#include <algorithm>
#include <utility>

#include "layers/backend.h"

// The places of saved tensors follow from the kinds that the layer's plan states, so every call
// plans the layer anew, as a residual unit does with its parts. Tensors without data belong to
// frozen layers, and are not written.

namespace penstock::layers {
namespace {

void copy_to(const Context& context, Saved saved, int place, const Tensor& from) {
  if (place < 0 || saved.empty() || saved[place].data == nullptr) return;
  if (saved[place].data != from.data)
    context.backend.copy(context.stream, saved[place].data, from.data, from.bytes());
}

std::vector<Tensor> tensors_of(const InnerPlan& inner, Saved saved) {
  std::vector<Tensor> tensors;
  if (saved.empty()) return tensors;
  for (const int place : inner.kept_by) tensors.push_back(place < 0 ? Tensor{} : saved[place]);
  return tensors;
}

}  // namespace

InnerLayer::InnerLayer(std::unique_ptr<Layer> layer, std::int64_t channels)
    : layer_(std::move(layer)), channels_(channels) {}

InnerPlan InnerLayer::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  InnerPlan inner;
  inner.plan = layer_->plan(input, sizes);
  const auto keep = [&](SavedDecl decl, const ActivationDecl* copied, int* place) {
    if (place != nullptr && *place >= 0) {
      SavedDecl& known = inner.saved[static_cast<std::size_t>(*place)];
      known.life = std::max(known.life, decl.life);
      known.for_weights = known.for_weights && decl.for_weights;
      return *place;
    }
    if (copied != nullptr) {
      decl.kind = SavedDecl::Kind::own;
      decl.dtype = copied->dtype;
      decl.shape = copied->only().shape();
    }
    inner.saved.push_back(std::move(decl));
    const int made = static_cast<int>(inner.saved.size()) - 1;
    if (place != nullptr) *place = made;
    return made;
  };
  const ActivationDecl& output = inner.plan.output;
  for (const SavedDecl& decl : inner.plan.saved) switch (decl.kind) {
      case SavedDecl::Kind::own:
        inner.kept_by.push_back(keep(decl, nullptr, nullptr));
        break;
      case SavedDecl::Kind::input:
        inner.kept_by.push_back(keep(decl, &input, &inner.input));
        break;
      case SavedDecl::Kind::output:
        inner.kept_by.push_back(keep(decl, &output, &inner.output));
        break;
      case SavedDecl::Kind::input_gradient:
        inner.kept_by.push_back(keep(decl, &input, &inner.input_gradient));
        break;
      case SavedDecl::Kind::output_gradient:
        inner.kept_by.push_back(keep(decl, &output, &inner.output_gradient));
        break;
      case SavedDecl::Kind::none:
        inner.kept_by.push_back(-1);
        break;
    }
  return inner;
}

InnerPlan InnerLayer::plan_of_one() const { return plan({DType::f32, {{{1}, channels_}}}, {}); }

void InnerLayer::forward(const Context& context, const Params& params, const Call& call,
                         Saved saved) const {
  const InnerPlan inner = plan_of_one();
  Context own = context;
  own.lengths = call.lengths;
  copy_to(context, saved, inner.input, call.from);
  Activation y{{{call.to, call.lengths}}};
  layer_->forward(own, params, {{{call.from, call.lengths}}}, y, tensors_of(inner, saved));
  copy_to(context, saved, inner.output, call.to);
}

void InnerLayer::backward_input(const Context& context, const Params& params, const Call& call,
                                Saved saved) const {
  const InnerPlan inner = plan_of_one();
  Context own = context;
  own.lengths = call.lengths;
  copy_to(context, saved, inner.output_gradient, call.from);
  Activation dx;
  if (call.to.data != nullptr) dx = {{{call.to, call.lengths}}};
  const int kept = inner.input_gradient;
  if (dx.empty() && kept >= 0 && saved[kept].data != nullptr) dx = {{{saved[kept], call.lengths}}};
  layer_->backward_input(own, params, {{{call.from, call.lengths}}}, tensors_of(inner, saved), dx);
  if (call.to.data != nullptr) copy_to(context, saved, kept, call.to);
}

void InnerLayer::backward_weight(const Context& context, std::span<const std::int64_t> lengths,
                                 Saved saved, Grads grads) const {
  const InnerPlan inner = plan_of_one();
  if (!inner.plan.trained()) return;
  Context own = context;
  own.lengths = lengths;
  layer_->backward_weight(own, tensors_of(inner, saved), grads);
}

void add_work(LayerPlan& plan, const LayerPlan& inner) {
  plan.params.insert(plan.params.end(), inner.params.begin(), inner.params.end());
  plan.flops.forward += inner.flops.forward;
  plan.flops.backward_input += inner.flops.backward_input;
  plan.flops.backward_weight += inner.flops.backward_weight;
  if (inner.work != Work::elementwise) plan.work = inner.work;
}

}  // namespace penstock::layers
