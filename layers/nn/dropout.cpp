#include "layers/nn/dropout.h"

#include <fmt/format.h>

#include <utility>

#include "base/counted.h"
#include "base/error.h"
#include "layers/backend.h"
#include "layers/ops/cast.h"
#include "layers/ops/dropout.h"
#include "layers/philox.h"
#include "layers/widened.h"

namespace penstock::layers {
namespace {

DropoutMask mask_of(const Context& context, const Frames& frames, const std::string& layer,
                    double probability) {
  if (context.random.utterances.size() != frames.lengths.size())
    throw ShapeError(fmt::format("{} samples for {} and was given the frames of {}", layer,
                                 counted(context.random.utterances.size(), "utterance"),
                                 frames.lengths.size()));
  return {context.random, hash_of_name(layer), frames.lengths, probability};
}

}  // namespace

Dropout::Dropout(std::string name, double probability)
    : name_(std::move(name)), probability_(probability) {
  if (!(probability >= 0 && probability < 1))
    throw ShapeError(fmt::format("{} drops a share of {:g}; it must be at least 0 and less than 1",
                                 name_, probability));
}

LayerPlan Dropout::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  LayerPlan plan;
  plan.output = input;
  const std::int64_t n = element_count(input.only().shape());
  plan.workspace = {widened(sizes, {n, n}), widened(sizes, {n, n}), 0};
  const auto count = static_cast<double>(n);
  plan.flops = {count, count, 0};
  plan.cheap_to_recompute = true;
  return plan;
}

void Dropout::forward(Context& context, const Params&, const Activation& x, Activation& y,
                      Saved) const {
  if (context.mode == Mode::evaluate)
    context.backend.run(context.stream, Cast{x.only().x_FC, y.only().x_FC});
  else
    context.backend.run(context.stream,
                        DropoutForward{x.only().x_FC, y.only().x_FC,
                                       mask_of(context, x.only(), name_, probability_)});
}

void Dropout::backward_input(Context& context, const Params&, const Activation& dy, Saved,
                             Activation& dx) const {
  if (dx.empty()) return;
  context.backend.run(context.stream,
                      DropoutBackward{dy.only().x_FC, dx.only().x_FC,
                                      mask_of(context, dy.only(), name_, probability_)});
}

}  // namespace penstock::layers
