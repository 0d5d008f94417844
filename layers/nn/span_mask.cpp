#include "layers/nn/span_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/ops/elementwise.h"
#include "layers/ops/span_mask.h"
#include "layers/widened.h"

// The host draws the spans, since they are few and no two of an axis may start at one place. It
// uploads a number for each frame, and one for each utterance's channels if channels are masked.
// Both are saved, so backward draws nothing. backward_input sums the output's gradient over masked
// frames, since these C numbers are all that backward_weight needs. Without spans of frames there
// is no such sum.

namespace penstock::layers {
namespace {

enum SpanMaskSaved { kUtterances, kChannels, kGradient };
enum Axis : std::uint32_t { kFrames, kFeatures };

SpanMask saved_mask(Saved saved) { return {saved[kUtterances], saved[kChannels]}; }

void check(const SpanRule& rule, const std::string& layer) {
  if (!(rule.share >= 0 && rule.share <= 1) || rule.length < 1 || rule.least < 0)
    throw ShapeError(
        fmt::format("{} masks a share of {:g} by spans of {}, at least {} of them; the share must "
                    "be from 0 to 1, spans at least 1, and their number at least 0",
                    layer, rule.share, rule.length, rule.least));
}

/// Returns how many spans an axis gets. `part`, from 0 to 1, rounds their number up or down.
std::int64_t count_spans(const SpanRule& rule, std::int64_t size, double part) {
  const auto wanted =
      static_cast<std::int64_t>(rule.share * static_cast<double>(size) / rule.length + part);
  return std::min(std::max<std::int64_t>(wanted, rule.least), size / rule.length);
}

}  // namespace

// Robert Floyd's algorithm draws different numbers without a list of all: each is taken from one
// place more than the last, and a place that is taken already gives way to the newest place.
std::vector<std::int64_t> draw_spans(const SpanRule& rule, std::int64_t size,
                                     const PhiloxStream& random, std::uint32_t axis) {
  if (rule.share == 0 || size < rule.length) return {};
  const double part = random(0, axis)[0] * 0x1p-32;
  const std::int64_t count = count_spans(rule, size, part);
  const std::int64_t places = size - (rule.length - 1);
  std::vector<std::int64_t> starts;
  std::vector<bool> taken(static_cast<std::size_t>(places));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t newest = places - count + i;
    const PhiloxBlock bits = random(1 + static_cast<std::uint32_t>(i / 4), axis);
    const std::uint64_t drawn = bits[static_cast<std::size_t>(i % 4)];
    auto start = static_cast<std::int64_t>(drawn * static_cast<std::uint64_t>(newest + 1) >> 32);
    if (taken[static_cast<std::size_t>(start)]) start = newest;
    taken[static_cast<std::size_t>(start)] = true;
    starts.push_back(start);
  }
  return starts;
}

SpanMaskLayer::SpanMaskLayer(std::string name, std::int64_t channels, SpanMaskOptions options)
    : name_(std::move(name)), channels_(channels), options_(options) {
  check(options_.time, name_);
  check(options_.features, name_);
}

LayerPlan SpanMaskLayer::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  if (x.channels != channels_)
    throw ShapeError(fmt::format("{} masks frames of {}, but its input has {}", name_,
                                 counted(channels_, "channel"), x.channels));
  LayerPlan plan;
  plan.output = input;
  plan.params.push_back({name_ + ".embedding", {channels_}, {Initialiser::Kind::uniform, 1}});
  const bool masks_channels = options_.features.share > 0;
  const bool masks_frames = options_.apply && options_.time.share > 0;
  plan.saved = {{SavedDecl::Kind::own, Life::to_backward_input, DType::i32, {x.rows()}},
                {masks_channels ? SavedDecl::Kind::own : SavedDecl::Kind::none,
                 Life::to_backward_input,
                 DType::i32,
                 {std::ssize(x.lengths), masks_channels ? channels_ : 0}},
                {masks_frames ? SavedDecl::Kind::own : SavedDecl::Kind::none,
                 Life::carried,
                 arithmetic_of(input.dtype),
                 {masks_frames ? channels_ : 0},
                 /*for_weights=*/true}};
  const std::int64_t n = x.rows() * channels_;
  plan.workspace = {widened(sizes, {n, channels_, n}), widened(sizes, {n, n}), 0};
  const auto count = static_cast<double>(n);
  plan.flops = {count, 2 * count, static_cast<double>(channels_)};
  plan.cache_channels = 0;
  return plan;
}

void SpanMaskLayer::copy_masks(Context& context, Saved saved) const {
  const RandomKey& key = context.random;
  if (key.utterances.size() != context.lengths.size())
    throw ShapeError(fmt::format("{} samples for {} and was given the frames of {}", name_,
                                 counted(key.utterances.size(), "utterance"),
                                 context.lengths.size()));
  std::vector<std::int32_t> frames;
  const bool masks_channels = options_.features.share > 0;
  std::vector<std::int32_t> channels(
      masks_channels ? static_cast<std::size_t>(saved[kChannels].size()) : 0);
  for (std::size_t u = 0; options_.apply && u < key.utterances.size(); ++u) {
    const std::uint64_t utterance = key.utterances[u];
    const PhiloxStream random = philox_stream(
        key.seed, {hash_of_name(name_), key.epoch, low_word(utterance), high_word(utterance)});
    const auto number = static_cast<std::int32_t>(u);
    const std::size_t first = frames.size();
    frames.resize(first + static_cast<std::size_t>(context.lengths[u]), number);
    for (const std::int64_t start : draw_spans(options_.time, context.lengths[u], random, kFrames))
      std::fill_n(frames.begin() + static_cast<std::ptrdiff_t>(first) + start, options_.time.length,
                  -1 - number);
    if (!masks_channels) continue;
    const auto own = channels.begin() + static_cast<std::ptrdiff_t>(u) * channels_;
    for (const std::int64_t start : draw_spans(options_.features, channels_, random, kFeatures))
      std::fill_n(own + start, options_.features.length, 1);
  }
  frames.resize(static_cast<std::size_t>(saved[kUtterances].size()));
  context.backend.copy_in(context.stream, saved[kUtterances].data, frames.data(),
                          saved[kUtterances].bytes());
  if (masks_channels)
    context.backend.copy_in(context.stream, saved[kChannels].data, channels.data(),
                            saved[kChannels].bytes());
}

void SpanMaskLayer::forward(Context& context, const Params& params, const Activation& x,
                            Activation& y, Saved saved) const {
  if (context.mode == Mode::evaluate) {
    context.backend.run(context.stream, Cast{x.only().x_FC, y.only().x_FC});
    return;
  }
  copy_masks(context, saved);
  context.backend.run(context.stream, SpanMaskForward{.x_FC = x.only().x_FC,
                                                      .embedding_C = params.weights[0],
                                                      .y_FC = y.only().x_FC,
                                                      .mask = saved_mask(saved)});
}

void SpanMaskLayer::backward_input(Context& context, const Params&, const Activation& dy,
                                   Saved saved, Activation& dx) const {
  const Tensor& dy_FC = dy.only().x_FC;
  if (const Tensor& sum_C = saved[kGradient]; sum_C.data != nullptr) {
    context.backend.zero(context.stream, sum_C.data, sum_C.bytes());
    context.backend.run(
        context.stream,
        SpanMaskBackwardWeight{.dy_FC = dy_FC, .dembedding_C = sum_C, .mask = saved_mask(saved)});
  }
  if (dx.empty()) return;
  context.backend.run(
      context.stream,
      SpanMaskBackwardInput{.dy_FC = dy_FC, .dx_FC = dx.only().x_FC, .mask = saved_mask(saved)});
}

void SpanMaskLayer::backward_weight(Context& context, Saved saved, Grads grads) const {
  const Tensor& sum_C = saved[kGradient];
  if (sum_C.data == nullptr) return;
  context.backend.run(context.stream, AddScaled{.x = grads[0], .f = sum_C, .y = grads[0]});
}

}  // namespace penstock::layers
