#include "layers/models/attention_decoder.h"

#include <fmt/format.h>

#include <memory>

#include "base/quantities.h"
#include "layers/losses/attention_loss.h"
#include "layers/losses/ctc.h"
#include "layers/models/residual_units.h"
#include "layers/nn/decoder_embedding.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/layer_norm.h"
#include "layers/nn/linear.h"
#include "layers/nn/on_matrix.h"
#include "layers/ops/ctc.h"

// The decoder adds these layers after the encoder's `output`, which projects frames to its width W:
//   decoder.text                            begins the texts, beside the encoder's output
//   [decoder.text_norm] [decoder.text_dropout]
//   decoder.blockN.attention decoder.blockN.cross_attention decoder.blockN.feed_forward …
//   decoder.norm
//   [decoder.ctc]                           makes CTC's logits of the encoder's output
//   decoder.output                          logits of the text, and the losses
// From decoder.text on, an activation is two matrices: the encoder's output, and the text. Every
// layer passes the first one, so a cut may lie at any boundary, and a stage needs nothing from any
// but its neighbours.

namespace penstock::layers {
namespace {

using Sequence = std::vector<std::unique_ptr<Layer>>;

TextPositions positions_of(const std::string& name) {
  if (name == "learned") return TextPositions::learned;
  if (name == "canary") return TextPositions::canary;
  return name == "none" ? TextPositions::none : TextPositions::sinusoidal;
}

/// True if the positions of a text end.
bool have_end(const DecoderOptions& options) {
  return options.positions == "learned" || options.positions == "canary";
}

FeedForwardActivation activation_of(const std::string& name) {
  if (name == "gelu") return NonlinearityKind::gelu;
  if (name == "silu") return NonlinearityKind::silu;
  return Relu{};
}

void add_on_text(Sequence& sequence, const DecoderOptions& options, std::unique_ptr<Layer> layer) {
  sequence.push_back(std::make_unique<OnMatrix>(OnMatrix::text, std::move(layer), options.width));
}

std::unique_ptr<Layer> norm(const std::string& name, const DecoderOptions& options) {
  return std::make_unique<LayerNorm>(LayerNormOptions{.name = name, .channels = options.width});
}

void add_text(Sequence& sequence, int classes, const DecoderOptions& options) {
  sequence.push_back(std::make_unique<DecoderEmbedding>(
      DecoderEmbeddingOptions{.name = "decoder.text",
                              .classes = classes,
                              .width = options.width,
                              .prompt = {options.prompt.begin(), options.prompt.end()},
                              .prompts = {options.prompts.begin(), options.prompts.end()},
                              .bos = options.bos,
                              .scale = options.embedding_scale,
                              .positions = positions_of(options.positions),
                              .max_positions = options.max_positions}));
  if (options.embedding_norm) add_on_text(sequence, options, norm("decoder.text_norm", options));
  if (options.dropout > 0)
    add_on_text(sequence, options,
                std::make_unique<Dropout>("decoder.text_dropout", options.dropout));
}

void add_block(Sequence& sequence, const DecoderOptions& options, int number) {
  const std::string block = fmt::format("decoder.block{}", number);
  AttentionUnitOptions attention{.name = block + ".attention",
                                 .width = options.width,
                                 .heads = options.heads,
                                 .kv_heads = options.kv_heads,
                                 .head_channels = options.head_channels,
                                 .right = 0,
                                 .bias = options.bias,
                                 .key_bias = options.key_bias,
                                 .dropout = options.dropout};
  add_on_text(sequence, options, attention_unit(attention));
  attention.name = block + ".cross_attention";
  sequence.push_back(cross_attention_unit(attention));
  add_on_text(sequence, options,
              feed_forward_unit({.name = block + ".feed_forward",
                                 .width = options.width,
                                 .inner = options.inner,
                                 .activation = activation_of(options.activation),
                                 .bias = options.bias,
                                 .dropout = options.dropout}));
}

void add_layers(Sequence& sequence, int classes, const DecoderOptions& options) {
  add_text(sequence, classes, options);
  for (int i = 1; i <= options.layers; ++i) add_block(sequence, options, i);
  add_on_text(sequence, options, norm("decoder.norm", options));
  if (options.ctc_weight > 0)
    sequence.push_back(
        std::make_unique<OnMatrix>(OnMatrix::memory,
                                   std::make_unique<Linear>(LinearOptions{
                                       .name = "decoder.ctc", .in = options.width, .out = classes}),
                                   options.width));
  sequence.push_back(std::make_unique<AttentionLoss>(
      TokenCrossEntropyOptions{.name = "decoder.output",
                               .classes = classes,
                               .width = options.width,
                               .eos = options.eos,
                               .smoothing = options.smoothing,
                               .bias = options.head_bias,
                               .tied_to = options.tied ? "decoder.text.weight" : ""},
      options.ctc_weight));
}

Loss attention_loss(const DecoderOptions& options) {
  Loss loss;
  loss.channels = [width = options.width](int) { return width; };
  loss.projects = options.project;
  loss.add_layers = [options](Sequence& sequence, int classes) {
    add_layers(sequence, classes, options);
  };
  loss.frames_needed = [](std::span<const std::int32_t>) { return std::int64_t{1}; };
  if (have_end(options)) loss.most_labels = options.max_positions - std::ssize(options.prompt) - 1;
  loss.writing =
      TextWriting{.eos = options.eos,
                  .ctc_weight = options.ctc_weight,
                  .suppress = {options.suppress.begin(), options.suppress.end()},
                  .begin_suppress = {options.begin_suppress.begin(), options.begin_suppress.end()}};
  loss.beam_search = true;
  if (options.ctc_weight == 0) return loss;
  loss.frames_needed = ctc_loss().frames_needed;
  loss.make_ctc_decoder = ctc_greedy_decoder;
  return loss;
}

std::vector<Contradiction> contradictions_of(const DecoderOptions& options) {
  std::vector<Contradiction> found;
  const int width = options.width, heads = options.heads;
  if (options.head_channels == 0 && width % heads != 0)
    found.push_back({"decoder.heads", fmt::format("{} of attention do not divide a width of {}",
                                                  counted(heads, "head"), width)});
  if (options.kv_heads > 0 && heads % options.kv_heads != 0)
    found.push_back({"decoder.kv_heads", fmt::format("{} of keys can't be shared equally by {}",
                                                     counted(options.kv_heads, "head"), heads)});
  if (options.activation == "tanh")
    found.push_back({"decoder.activation",
                     "the feed-forward units of an attention decoder have no tanh: choose relu, "
                     "gelu or silu"});
  if (options.positions == "canary" && width % 2 != 0)
    found.push_back(
        {"decoder.width", fmt::format("a width of {} has no halves for the sines and cosines of "
                                      "decoder.positions = canary: choose an even number",
                                      width)});
  if (!options.bias && !options.key_bias)
    found.push_back({"decoder.key_bias", "without decoder.bias keys have none: leave it out"});
  if (have_end(options) && options.max_positions < std::ssize(options.prompt) + 2)
    found.push_back(
        {"decoder.max_positions", fmt::format("{} positions leave none for labels after bos and a "
                                              "prompt of {}: give more",
                                              options.max_positions, options.prompt.size())});
  return found;
}

}  // namespace

DecoderKind attention_decoder() {
  return {.name = "attention",
          .loss = attention_loss,
          .contradictions = contradictions_of,
          .keys = {"decoder.width",
                   "decoder.layers",
                   "decoder.heads",
                   "decoder.kv_heads",
                   "decoder.head_channels",
                   "decoder.inner",
                   "decoder.activation",
                   "decoder.tied",
                   "decoder.dropout",
                   "decoder.smoothing",
                   "decoder.prompt",
                   "decoder.languages",
                   "decoder.prompts",
                   "decoder.bos",
                   "decoder.eos",
                   "decoder.ctc_weight",
                   "decoder.positions",
                   "decoder.max_positions",
                   "decoder.embedding_scale",
                   "decoder.embedding_norm",
                   "decoder.bias",
                   "decoder.key_bias",
                   "decoder.head_bias",
                   "decoder.project",
                   "decoder.suppress",
                   "decoder.begin_suppress"}};
}

}  // namespace penstock::layers
