#include "layers/nn/on_matrix.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"

namespace penstock::layers {

void expect_memory_and_text(const ActivationDecl& input, const std::string& layer) {
  if (input.frames.size() != 2 || input.frames[0].lengths.size() != input.frames[1].lengths.size())
    throw ShapeError(
        fmt::format("{} takes a memory and a text of as many utterances, and was given {}", layer,
                    counted(input.frames.size(), "matrix", "matrices")));
}

OnMatrix::OnMatrix(Which which, std::unique_ptr<Layer> layer, std::int64_t channels)
    : which_(which), inner_(std::move(layer), channels) {}

std::vector<ActivationDecl> OnMatrix::inputs_of_inner(const ActivationDecl& input) const {
  return {{input.dtype, {input.frames.at(which_)}}};
}

LayerPlan OnMatrix::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  expect_memory_and_text(input, name());
  InnerPlan inner = inner_.plan(inputs_of_inner(input).front(), sizes);
  if (inner.plan.output.only().lengths != input.frames[which_].lengths)
    throw ShapeError(name() + " changes the number of rows of a memory or a text");
  LayerPlan plan;
  plan.output = {input.dtype, input.frames};
  plan.output.frames[which_] = inner.plan.output.only();
  add_work(plan, inner.plan);
  plan.saved = std::move(inner.saved);
  plan.workspace = inner.plan.workspace;
  plan.cache_channels = which_ == text ? inner.plan.cache_channels : 0;
  const auto passed = static_cast<double>(element_count(input.frames[other()].shape()));
  plan.flops.forward += passed;
  plan.flops.backward_input += passed;
  return plan;
}

// While a text is written, its memory has no rows.
void OnMatrix::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                       Saved saved) const {
  const Tensor& passed = x.frames[other()].x_FC;
  context.backend.copy(context.stream, y.frames[other()].x_FC.data, passed.data, passed.bytes());
  const Frames& from = x.frames[which_];
  if (from.rows() == 0) return;
  inner_.forward(context, params, {from.lengths, from.x_FC, y.frames[which_].x_FC}, saved);
}

void OnMatrix::backward_input(Context& context, const Params& params, const Activation& dy,
                              Saved saved, Activation& dx) const {
  if (!dx.empty()) {
    const Tensor& passed = dy.frames[other()].x_FC;
    context.backend.copy(context.stream, dx.frames[other()].x_FC.data, passed.data, passed.bytes());
  }
  const Frames& from = dy.frames[which_];
  inner_.backward_input(context, params,
                        {from.lengths, from.x_FC, dx.empty() ? Tensor{} : dx.frames[which_].x_FC},
                        saved);
}

void OnMatrix::backward_weight(Context& context, Saved saved, Grads grads) const {
  inner_.backward_weight(context, which_ == memory ? context.lengths : context.text_lengths, saved,
                         grads);
}

}  // namespace penstock::layers
