#include "layers/losses/attention_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/losses/loss_share.h"
#include "layers/nn/on_matrix.h"
#include "layers/scratch.h"

// Two losses run one after the other, each on its matrix. Each gets utterance weights that are
// multiplied by its share (loss_share.h), so losses and gradients are weighted where they arise.
// Without CTC nobody needs the memory here, and its gradient is 0.
//
// Saved tensors are those of the text's loss, whose input is a copy, and then CTC's gradient.

namespace penstock::layers {
namespace {

constexpr std::size_t kInput = 0;  // the saved tensor that is the text

/// Returns the context of the text's loss.
Context of_text(const Context& context, std::span<const std::int64_t> lengths,
                const Scratch& scratch) {
  Context part = context;
  part.lengths = lengths;
  part.workspace = context.workspace.subspan(scratch.used());
  return part;
}

}  // namespace

AttentionLoss::AttentionLoss(TokenCrossEntropyOptions options, double ctc_weight)
    : text_(std::move(options)), ctc_("ctc"), ctc_weight_(ctc_weight) {
  if (!(ctc_weight >= 0 && ctc_weight < 1))
    throw ShapeError(fmt::format("{} gives CTC the weight {}; it is 0 or lies between 0 and 1",
                                 name(), ctc_weight));
}

LayerPlan AttentionLoss::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  expect_memory_and_text(input, name());
  const FramesDecl &memory = input.frames[OnMatrix::memory], &text = input.frames[OnMatrix::text];
  const std::vector<std::int64_t> labels = input.labels_or_usual();
  LayerPlan plan = text_.plan({input.dtype, {text}, labels}, sizes);
  plan.saved[kInput] = {SavedDecl::Kind::own, Life::to_backward_input, input.dtype, text.shape()};
  plan.flops.forward += static_cast<double>(element_count(text.shape()));
  if (!beside_ctc()) return plan;
  const LayerPlan ctc = ctc_.plan({input.dtype, {memory}, labels}, sizes);
  plan.saved.insert(plan.saved.end(), ctc.saved.begin(), ctc.saved.end());
  plan.losses = 2;
  Scratch shares;
  for (int part = 0; part < 2; ++part) (void)share_weights_in(shares, memory.lengths.size());
  plan.workspace.forward = shares.used() + std::max(plan.workspace.forward, ctc.workspace.forward);
  plan.workspace.backward_input =
      std::max(plan.workspace.backward_input, ctc.workspace.backward_input);
  plan.flops.forward += ctc.flops.forward;
  plan.flops.backward_input += ctc.flops.backward_input;
  return plan;
}

void AttentionLoss::forward(Context& context, const Params& params, const Activation& x,
                            Activation& y, Saved saved) const {
  if (context.targets == nullptr)
    throw ShapeError(name() + " was run without labels: set Context::targets");
  const Frames &memory = x.frames.at(OnMatrix::memory), &text = x.frames.at(OnMatrix::text);
  const std::size_t losses = context.targets->losses.size(),
                    wanted = (beside_ctc() ? 2 : 1) * memory.lengths.size();
  if (losses != wanted)
    throw ShapeError(fmt::format("{} has {} and room for {}: make room for {} of each", name(),
                                 counted(memory.lengths.size(), "utterance"),
                                 counted(losses, "loss", "losses"), beside_ctc() ? 2 : 1));
  if (!saved.empty())
    context.backend.copy(context.stream, saved[kInput].data, text.x_FC.data, text.x_FC.bytes());
  Scratch scratch(context.workspace);
  if (!beside_ctc()) {
    Context part = of_text(context, text.lengths, scratch);
    return text_.forward(part, params, {{text}}, y, saved);
  }
  Targets of_tokens = share_of(context, scratch, 0, 1 - ctc_weight_),
          of_frames = share_of(context, scratch, 1, ctc_weight_);
  const std::size_t kept = saved.empty() ? 0 : saved.size() - 1;
  Context part = of_text(context, text.lengths, scratch);
  part.targets = &of_tokens;
  text_.forward(part, params, {{text}}, y, saved.first(kept));
  part.lengths = memory.lengths;
  part.targets = &of_frames;
  ctc_.forward(part, {}, {{memory}}, y, saved.subspan(kept));
}

void AttentionLoss::backward_input(Context& context, const Params& params, const Activation& dy,
                                   Saved saved, Activation& dx) const {
  const std::size_t kept = saved.size() - (beside_ctc() ? 1 : 0);
  Activation dtext;
  if (!dx.empty()) dtext = {{dx.frames[OnMatrix::text]}};
  Context part = of_text(context, context.text_lengths, {});
  text_.backward_input(part, params, dy, saved.first(kept), dtext);
  if (dx.empty()) return;
  Activation dmemory{{dx.frames[OnMatrix::memory]}};
  if (beside_ctc()) return ctc_.backward_input(context, {}, dy, saved.subspan(kept), dmemory);
  const Tensor& none = dmemory.only().x_FC;
  context.backend.zero(context.stream, none.data, none.bytes());
}

void AttentionLoss::backward_weight(Context& context, Saved saved, Grads grads) const {
  text_.backward_weight(context, saved.first(saved.size() - (beside_ctc() ? 1 : 0)), grads);
}

}  // namespace penstock::layers
