#include "layers/losses/intermediate_ctc.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/losses/ctc.h"
#include "layers/losses/loss_share.h"
#include "layers/ops/ctc.h"
#include "layers/ops/elementwise.h"
#include "layers/ops/softmax.h"
#include "layers/scratch.h"
#include "layers/widened.h"

// The arithmetic is CtcLoss's and a softmax's. As in Ctc, forward computes the gradient of the
// logits, and saves it in FP32. backward_input adds the softmax's gradient to it, where there is a
// softmax. Losses get utterance weights that are multiplied by the weight of the loss
// (loss_share.h).

namespace penstock::layers {
namespace {

enum IntermediateSaved { kGradient, kPosteriors };

}  // namespace

IntermediateCtc::IntermediateCtc(IntermediateCtcOptions options) : options_(std::move(options)) {
  if (options_.classes < 2 || !(options_.weight >= 0))
    throw ShapeError(
        fmt::format("{} has {} classes and a loss of weight {:g}; it needs 2 or more, "
                    "and a weight of 0 or more",
                    name(), options_.classes, options_.weight));
}

LayerPlan IntermediateCtc::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  if (x.channels != options_.classes)
    throw ShapeError(fmt::format("{} was given {} channels, expected the {} classes", name(),
                                 x.channels, options_.classes));
  const LayerPlan ctc = Ctc(name()).plan(input, sizes);
  const std::int64_t n = element_count(x.shape());
  LayerPlan plan;
  plan.output = {input.dtype, {{x.lengths, conditions() ? x.channels : options_.zeros}}};
  plan.saved = ctc.saved;
  if (conditions())
    plan.saved.push_back({SavedDecl::Kind::output, Life::to_backward_input, input.dtype});
  Scratch forward, backward;
  (void)share_weights_in(forward, x.lengths.size());
  if (conditions()) (void)tensor_in(backward, input.dtype, x.shape());
  const std::size_t copies = widened(sizes, {n, n, n});
  plan.workspace.forward = forward.used() + std::max(ctc.workspace.forward, copies);
  plan.workspace.backward_input = backward.used() + copies;
  plan.flops = {ctc.flops.forward + 30 * static_cast<double>(n),
                ctc.flops.backward_input + 6 * static_cast<double>(n), 0};
  plan.cache_channels = 0;
  plan.auxiliary_loss = true;
  return plan;
}

void IntermediateCtc::forward(Context& context, const Params&, const Activation& x, Activation& y,
                              Saved saved) const {
  const Frames& logits = x.only();
  const Tensor& to = y.only().x_FC;
  if (conditions())
    context.backend.run(context.stream, SoftmaxForward{logits.x_FC, to});
  else
    context.backend.zero(context.stream, to.data, to.bytes());
  if (context.mode != Mode::train) return;
  if (context.targets == nullptr)
    throw ShapeError(name() + " was trained without labels: set Context::targets");
  Scratch scratch(context.workspace);
  const Targets weighted = share_of(context, scratch, 0, options_.weight);
  context.backend.run(context.stream,
                      CtcLoss{logits.x_FC, logits.lengths, weighted, saved[kGradient],
                              context.workspace.subspan(scratch.used())});
}

void IntermediateCtc::backward_input(Context& context, const Params&, const Activation& dy,
                                     Saved saved, Activation& dx) const {
  if (dx.empty()) return;
  const Tensor& to = dx.only().x_FC;
  if (!conditions()) return context.backend.run(context.stream, Cast{saved[kGradient], to});
  Scratch scratch(context.workspace);
  const Tensor through = tensor_in(scratch, to.dtype, to.shape);
  context.backend.run(context.stream, SoftmaxBackward{saved[kPosteriors], dy.only().x_FC, through});
  context.backend.run(context.stream, AddScaled{.x = saved[kGradient], .f = through, .y = to});
}

}  // namespace penstock::layers
