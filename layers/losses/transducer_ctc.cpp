#include "layers/losses/transducer_ctc.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/losses/loss_share.h"
#include "layers/losses/transducer_loss.h"
#include "layers/ops/columns.h"
#include "layers/scratch.h"

// Two layers run one after the other. What is this one's own is the split of the columns, and the
// weights of both losses: each layer gets utterance weights that are multiplied by its share
// (loss_share.h). So losses and gradients are weighted where they arise, on either backend, and the
// gradients only have to be put side by side.
//
// Saved tensors are those of the transducer, whose input is a copy, and then CTC's gradient.

namespace penstock::layers {
namespace {

constexpr std::size_t kEncoded = 0;  // the saved tensor that is the transducer's input
constexpr std::size_t kParts = 2;

/// Returns the context of a part, after `scratch` of the layer's own.
Context part_of(const Context& context, const Scratch& scratch) {
  Context part = context;
  part.workspace = context.workspace.subspan(scratch.used());
  return part;
}

/// Returns columns [first, first + count) of all frames.
std::vector<float> columns_of(std::span<const float> x_FC, std::int64_t channels,
                              std::int64_t first, std::int64_t count) {
  if (channels < first + count || std::ssize(x_FC) % channels != 0)
    throw ShapeError(fmt::format("{} are not frames of {} or more",
                                 counted(std::ssize(x_FC), "number"),
                                 counted(first + count, "channel")));
  std::vector<float> columns;
  columns.reserve(static_cast<std::size_t>(std::ssize(x_FC) / channels * count));
  for (std::int64_t at = first; at < std::ssize(x_FC); at += channels)
    columns.insert(columns.end(), x_FC.begin() + at, x_FC.begin() + at + count);
  return columns;
}

}  // namespace

TransducerCtc::TransducerCtc(TransducerOptions options, double ctc_weight)
    : transducer_(std::move(options)), ctc_("ctc"), ctc_weight_(ctc_weight) {
  if (!(ctc_weight > 0 && ctc_weight < 1))
    throw ShapeError(
        fmt::format("{} gives CTC the weight {}; it lies between 0 and 1", name(), ctc_weight));
}

LayerPlan TransducerCtc::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  if (x.channels != joint() + classes())
    throw ShapeError(fmt::format(
        "{} was given {} channels, expected the {} of its joint network and its {} classes", name(),
        x.channels, joint(), classes()));
  const FramesDecl encoded{x.lengths, joint()}, logits{x.lengths, classes()};
  LayerPlan plan = transducer_.plan({input.dtype, {encoded}, input.labels}, sizes);
  const LayerPlan ctc = ctc_.plan({input.dtype, {logits}, input.labels}, sizes);
  plan.saved[kEncoded] = {SavedDecl::Kind::own, Life::to_backward_input, input.dtype,
                          encoded.shape()};
  plan.saved.insert(plan.saved.end(), ctc.saved.begin(), ctc.saved.end());
  plan.losses = kParts;

  // In evaluation nothing is saved, so the transducer's input takes scratch memory.
  Scratch forward, backward;
  (void)share_weights_in(forward, x.lengths.size());
  (void)share_weights_in(forward, x.lengths.size());
  (void)tensor_in(forward, input.dtype, logits.shape());
  (void)tensor_in(forward, input.dtype, encoded.shape());
  (void)tensor_in(backward, input.dtype, encoded.shape());
  plan.workspace.forward = forward.used() + std::max(plan.workspace.forward, ctc.workspace.forward);
  plan.workspace.backward_input += backward.used();
  const auto copied = static_cast<double>(element_count(x.shape()));
  plan.flops.forward += ctc.flops.forward + copied;
  plan.flops.backward_input += ctc.flops.backward_input + copied;
  return plan;
}

void TransducerCtc::forward(Context& context, const Params& params, const Activation& x,
                            Activation& y, Saved saved) const {
  if (context.targets == nullptr)
    throw ShapeError(name() + " was run without labels: set Context::targets");
  const Frames& frames = x.only();
  const std::size_t losses = context.targets->losses.size(),
                    wanted = kParts * frames.lengths.size();
  if (losses != wanted)
    throw ShapeError(fmt::format("{} has {} and room for {}: make room for two of each", name(),
                                 counted(frames.lengths.size(), "utterance"),
                                 counted(losses, "loss", "losses")));
  Scratch scratch(context.workspace);
  Targets of_transducer = share_of(context, scratch, 0, 1 - ctc_weight_),
          of_ctc = share_of(context, scratch, 1, ctc_weight_);
  const DType dtype = frames.x_FC.dtype;
  const Tensor logits_FV = tensor_in(scratch, dtype, {frames.rows(), classes()}),
               encoded_FJ = saved.empty() ? tensor_in(scratch, dtype, {frames.rows(), joint()})
                                          : saved[kEncoded];
  context.backend.run(context.stream, CastColumns{frames.x_FC, encoded_FJ, joint(), 0, 0});
  context.backend.run(context.stream, CastColumns{frames.x_FC, logits_FV, classes(), joint(), 0});
  Context part = part_of(context, scratch);
  const std::size_t kept = saved.empty() ? 0 : saved.size() - 1;
  part.targets = &of_transducer;
  transducer_.forward(part, params, {{{encoded_FJ, frames.lengths}}}, y, saved.first(kept));
  part.targets = &of_ctc;
  ctc_.forward(part, {}, {{{logits_FV, frames.lengths}}}, y, saved.subspan(kept));
}

void TransducerCtc::backward_input(Context& context, const Params& params, const Activation& dy,
                                   Saved saved, Activation& dx) const {
  Scratch scratch(context.workspace);
  Activation dencoded;
  if (!dx.empty()) {
    const Tensor& encoded_FJ = saved[kEncoded];
    dencoded = {{{tensor_in(scratch, encoded_FJ.dtype, encoded_FJ.shape), context.lengths}}};
  }
  Context part = part_of(context, scratch);
  transducer_.backward_input(part, params, dy, saved.first(saved.size() - 1), dencoded);
  if (dx.empty()) return;
  const Tensor& to = dx.only().x_FC;
  context.backend.run(context.stream, CastColumns{dencoded.only().x_FC, to, joint(), 0, 0});
  context.backend.run(context.stream, CastColumns{saved.back(), to, classes(), 0, joint()});
}

void TransducerCtc::backward_weight(Context& context, Saved saved, Grads grads) const {
  transducer_.backward_weight(context, saved.first(saved.size() - 1), grads);
}

Loss transducer_ctc_loss(const TransducerOptions& options, double ctc_weight) {
  const Loss transducer = transducer_loss(options), ctc = ctc_loss();
  const std::int64_t joint = options.joint;
  Loss loss;
  loss.channels = [transducer, ctc](int classes) {
    return transducer.channels(classes) + ctc.channels(classes);
  };
  loss.add_layers = [options, ctc_weight](auto& sequence, int classes) {
    TransducerOptions own = options;
    own.classes = classes;
    sequence.push_back(std::make_unique<TransducerCtc>(std::move(own), ctc_weight));
  };
  loss.frames_needed = [transducer, ctc](std::span<const std::int32_t> labels) {
    return std::max(transducer.frames_needed(labels), ctc.frames_needed(labels));
  };
  loss.make_decoder = [transducer, joint](const std::vector<HostParameter>& parameters,
                                          const DecodingOptions& decoding) -> Decoder {
    return [decode = transducer.make_decoder(parameters, decoding), joint](
               std::span<const float> x_FC, std::int64_t channels, std::int64_t labels) {
      return decode(columns_of(x_FC, channels, 0, joint), joint, labels);
    };
  };
  loss.beam_search = transducer.beam_search;
  loss.make_ctc_decoder = [joint]() -> Decoder {
    return [decode = ctc_greedy_decoder(), joint](std::span<const float> x_FC,
                                                  std::int64_t channels, std::int64_t labels) {
      const std::int64_t classes = channels - joint;
      return decode(columns_of(x_FC, channels, joint, classes), classes, labels);
    };
  };
  return loss;
}

}  // namespace penstock::layers
