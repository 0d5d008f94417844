#include "layers/losses/ctc.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/ops/ctc.h"
#include "layers/ops/elementwise.h"
#include "layers/widened.h"

namespace penstock::layers {
namespace {

constexpr std::int32_t kBlank = 0;

/// Returns the states that one pass over the lattice of N frames and L labels reaches: 2 L (N - L)
/// + N.
double reached_states(double frames, double labels) {
  const double aligned = std::min(labels, frames);  // more labels have no alignment
  return 2 * aligned * (frames - aligned) + frames;
}

/// Counts a softmax and a pass over the lattice in forward. The pass back runs in forward too, but
/// it counts as backward_input, since evaluation does without it.
Flops flops_of(const FramesDecl& x, double states) {
  return {.forward = 30 * static_cast<double>(x.rows() * x.channels) + 30 * states,
          .backward_input = 30 * states};
}

}  // namespace

Ctc::Ctc(std::string name, double smoothing) : name_(std::move(name)), smoothing_(smoothing) {
  if (!(smoothing >= 0 && smoothing < 1))
    throw ShapeError(fmt::format("{} has label smoothing {}; give a number from 0 to below 1",
                                 name_, smoothing));
}

// The gradient of the logits is the one saved tensor, in FP32 even for 16-bit logits.
LayerPlan Ctc::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  LayerPlan plan;
  plan.output = {input.dtype, {}};
  plan.saved = {
      {SavedDecl::Kind::own, Life::to_backward_input, arithmetic_of(input.dtype), x.shape()}};
  plan.workspace.forward = ctc_workspace({sizes.device, input.dtype}, x.lengths, x.channels);
  add_copies(plan.workspace, {widened(sizes, {x.rows() * x.channels}), 0, 0});
  const std::vector<std::int64_t> labels = input.labels_or_usual();
  double states = 0;
  for (std::size_t u = 0; u < labels.size(); ++u)
    states += reached_states(static_cast<double>(x.lengths[u]), static_cast<double>(labels[u]));
  plan.flops = flops_of(x, states);
  plan.needs_targets = true;
  return plan;
}

// Loss and gradient come from the same pass over the lattice, so forward computes both in training.
// The gradient is already scaled and weighted, so backward_input copies it.
void Ctc::forward(Context& context, const Params&, const Activation& x, Activation&,
                  Saved saved) const {
  if (context.targets == nullptr)
    throw ShapeError(name_ + " was run without labels: set Context::targets");
  context.backend.run(context.stream, CtcLoss{x.only().x_FC, x.only().lengths, *context.targets,
                                              context.mode == Mode::train ? saved[0] : Tensor{},
                                              context.workspace, smoothing_});
}

void Ctc::backward_input(Context& context, const Params&, const Activation&, Saved saved,
                         Activation& dx) const {
  if (!dx.empty()) context.backend.run(context.stream, Cast{saved[0], dx.only().x_FC});
}

// A label counts where it differs from the frame before. A blank resets that, so "a-a" is "aa".
std::vector<std::int32_t> ctc_greedy_labels(std::span<const float> logits_FC, std::int64_t channels,
                                            std::int64_t labels) {
  const auto width = static_cast<std::size_t>(channels);
  if (channels < 1 || logits_FC.size() % width != 0)
    throw ShapeError(fmt::format("{} are not frames of {}", counted(logits_FC.size(), "logit"),
                                 counted(channels, "channel")));
  if (labels < 1 || labels > channels)
    throw ShapeError(fmt::format("{} can't be told from {}", counted(labels, "label"),
                                 counted(channels, "channel")));
  std::vector<std::int32_t> decoded;
  std::int32_t before = kBlank;
  for (std::size_t start = 0; start < logits_FC.size(); start += width) {
    const auto frame = logits_FC.subspan(start, static_cast<std::size_t>(labels));
    const auto best = static_cast<std::int32_t>(std::ranges::max_element(frame) - frame.begin());
    if (best != before && best != kBlank) decoded.push_back(best);
    before = best;
  }
  return decoded;
}

Decoder ctc_greedy_decoder() {
  return [](std::span<const float> logits_FC, std::int64_t channels, std::int64_t labels) {
    return std::vector<Hypothesis>{{ctc_greedy_labels(logits_FC, channels, labels)}};
  };
}

Loss ctc_loss(double smoothing) {
  return {.channels = [](int classes) { return classes; },
          .add_layers = [smoothing](
                            auto& sequence,
                            int) { sequence.push_back(std::make_unique<Ctc>("ctc", smoothing)); },
          .frames_needed = ctc_frames_needed,
          .make_decoder = [](const auto&, const auto&) { return ctc_greedy_decoder(); }};
}

}  // namespace penstock::layers
