#include "layers/nn/text_embedding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/ops/embedding.h"
#include "layers/ops/targets.h"
#include "layers/scratch.h"
#include "layers/tensor_views.h"
#include "layers/widened.h"

// Rows of audio are copied, and rows of text are looked up, utterance by utterance. The ids of an
// utterance lie next to each other, also where audio comes between their rows. The gradient of
// the audio is copied back. For that of the table, the text's rows of the output's gradient are
// copied as well: they are fewer than all rows, which would stay for this layer alone. With a
// frozen table nothing is kept.

namespace penstock::layers {
namespace {

enum TextSaved { kIds, kTextGradient };

/// Returns true if the plan has what the gradient of the table needs: see RatedLayer.
bool keeps(Saved saved) { return !saved.empty() && saved[kIds].data != nullptr; }

void copy_rows(Context& context, const Tensor& from, const Tensor& to) {
  context.backend.copy(context.stream, to.data, from.data, to.bytes());
}

/// Rows of consecutive ids: among all texts, and in the output.
struct TextPlace {
  std::int64_t first, first_out, count;

  Tensor in(const Tensor& of_texts) const { return rows(of_texts, first, count); }
  Tensor of(const Tensor& y_FW) const { return rows(y_FW, first_out, count); }
};

/// Rows of an utterance: of audio in the input, of text among all texts, and of the output, where
/// the audio follows the first `before` rows of the text.
struct Place {
  std::int64_t first_frame, frames, first_text, texts, before;

  Tensor audio_in(const Tensor& x_FW) const { return rows(x_FW, first_frame, frames); }
  Tensor audio_of(const Tensor& y_FW) const { return rows(y_FW, first_row() + before, frames); }
  /// Returns the rows before the audio, if there are any, and those after it.
  std::vector<TextPlace> parts() const {
    std::vector<TextPlace> parts;
    if (before > 0) parts.push_back({first_text, first_row(), before});
    parts.push_back({first_text + before, first_row() + before + frames, texts - before});
    return parts;
  }

 private:
  std::int64_t first_row() const { return first_frame + first_text; }
};

}  // namespace

/// The utterances of a micro-batch.
struct TextEmbedding::Batch {
  /// `texts` are the rows of each text, of which the first `before` lie before the audio.
  Batch(std::span<const std::int64_t> frames, std::span<const std::int64_t> texts,
        std::int64_t before) {
    Place next{0, 0, 0, 0, before};
    for (std::size_t u = 0; u < frames.size(); ++u) {
      next.frames = frames[u];
      next.texts = texts[u];
      utterances.push_back(next);
      next.first_frame += next.frames;
      next.first_text += next.texts;
      longest_text = std::max(longest_text, next.texts);
    }
    all_texts = next.first_text;
    all_rows = next.first_frame + next.first_text;
  }

  std::vector<Place> utterances;
  std::int64_t all_texts = 0, all_rows = 0, longest_text = 0;
};

TextEmbedding::TextEmbedding(TextEmbeddingOptions options) : options_(std::move(options)) {
  if (options_.classes < 1 || options_.width < 1)
    throw ShapeError(fmt::format("{} has {} classes and {} channels; it needs 1 or more of each",
                                 name(), options_.classes, options_.width));
  start().check(options_.classes, name());
}

std::vector<std::int64_t> TextEmbedding::texts_of(std::span<const std::int64_t> labels) const {
  std::vector<std::int64_t> texts(labels.begin(), labels.end());
  for (std::int64_t& count : texts) count += start().rows();
  return texts;
}

LayerPlan TextEmbedding::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& x = input.only();
  const std::int64_t V = options_.classes, W = options_.width;
  if (x.channels != W)
    throw ShapeError(fmt::format("{} was given {} channels, expected {}", name(), x.channels, W));
  const std::vector<std::int64_t> texts = texts_of(input.labels_or_usual());
  const Batch batch(x.lengths, texts, std::ssize(options_.prefix));
  std::vector<std::int64_t> lengths = x.lengths;
  for (std::size_t u = 0; u < lengths.size(); ++u) lengths[u] += texts[u];

  LayerPlan plan;
  plan.output = {input.dtype, {{std::move(lengths), W}}};
  plan.output.ends_with_text = true;
  plan.params.push_back({name() + ".weight",
                         {V, W},
                         {Initialiser::Kind::uniform, std::sqrt(3.0) * options_.deviation}});
  plan.saved = {{SavedDecl::Kind::own,
                 Life::to_backward_weight,
                 DType::i32,
                 {batch.all_texts},
                 /*for_weights=*/true},
                {SavedDecl::Kind::own,
                 Life::carried,
                 sizes.compute,
                 {batch.all_texts, W},
                 /*for_weights=*/true}};
  Scratch ids;
  (void)tensor_in(ids, DType::i32, {batch.all_texts});
  const std::int64_t text = batch.all_texts * W;
  plan.workspace.forward = ids.used();
  add_copies(plan.workspace,
             {widened(sizes, {V * W, batch.longest_text * W}), 0, widened(sizes, {text})});
  const auto all = static_cast<double>(batch.all_rows * W);
  plan.flops = {all, all, static_cast<double>(text)};
  plan.needs_targets = true;
  return plan;
}

TextEmbedding::Batch TextEmbedding::batch_of(const Context& context) const {
  if (context.targets == nullptr && context.mode == Mode::train)
    throw ShapeError(name() + " was run without labels: set Context::targets");
  std::vector<std::int64_t> labels(context.lengths.size());
  if (context.targets != nullptr) {
    expect_texts_of(*context.targets, context.lengths, name().c_str());
    labels.assign(context.targets->lengths.begin(), context.targets->lengths.end());
  }
  return {context.lengths, texts_of(labels), std::ssize(options_.prefix)};
}

// The output was laid out for the numbers of labels that the plan knew, and so were the saved
// tensors.
void TextEmbedding::forward(Context& context, const Params& params, const Activation& x,
                            Activation& y, Saved saved) const {
  const Batch batch = batch_of(context);
  const Tensor &x_FW = x.only().x_FC, &y_FW = y.only().x_FC;
  if (y_FW.shape[0] != batch.all_rows)
    throw ShapeError(
        fmt::format("{} was planned for {} rows, but its frames and labels make {}: plan with "
                    "ActivationDecl::labels",
                    name(), y_FW.shape[0], batch.all_rows));
  if (context.targets != nullptr)
    expect_labels_below(*context.targets, options_.classes, name().c_str(), 0);
  Scratch scratch(context.workspace);
  const Tensor ids_P =
      keeps(saved) ? saved[kIds] : tensor_in(scratch, DType::i32, {batch.all_texts});
  const std::vector<std::int32_t> ids = start().ids(context, name());
  context.backend.copy_in(context.stream, ids_P.data, ids.data(), ids_P.bytes());
  for (const Place& utterance : batch.utterances) {
    copy_rows(context, utterance.audio_in(x_FW), utterance.audio_of(y_FW));
    for (const TextPlace& part : utterance.parts())
      context.backend.run(context.stream, EmbeddingForward{.ids_P = part.in(ids_P),
                                                           .table_VE = params.weights[0],
                                                           .y_PE = part.of(y_FW)});
  }
}

void TextEmbedding::backward_input(Context& context, const Params&, const Activation& dy,
                                   Saved saved, Activation& dx) const {
  const Tensor& dy_FW = dy.only().x_FC;
  for (const Place& utterance : batch_of(context).utterances) {
    if (!dx.empty())
      copy_rows(context, utterance.audio_of(dy_FW), utterance.audio_in(dx.only().x_FC));
    if (!keeps(saved)) continue;
    for (const TextPlace& part : utterance.parts())
      copy_rows(context, part.of(dy_FW), part.in(saved[kTextGradient]));
  }
}

void TextEmbedding::backward_weight(Context& context, Saved saved, Grads grads) const {
  context.backend.run(context.stream, EmbeddingBackwardWeight{.ids_P = saved[kIds],
                                                              .dy_PE = saved[kTextGradient],
                                                              .dtable_VE = grads[0]});
}

std::size_t TextEmbedding::embed_workspace(const BackendSizes& sizes, std::int64_t rows) const {
  return widened(sizes, {options_.classes * options_.width, rows * options_.width});
}

}  // namespace penstock::layers
