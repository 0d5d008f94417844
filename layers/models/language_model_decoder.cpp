#include "layers/models/language_model_decoder.h"

#include <fmt/format.h>

#include <memory>

#include "base/quantities.h"
#include "layers/losses/token_cross_entropy.h"
#include "layers/models/residual_units.h"
#include "layers/nn/layer_norm.h"
#include "layers/nn/text_embedding.h"

// The decoder adds these layers after the encoder's `output`, which projects frames to its width W:
//
//   decoder.text                 adds embeddings of prefix, prompt, bos and labels
//   decoder.blockN.attention     causal, with rotary positions, after an RMSNorm
//   decoder.blockN.feed_forward  SwiGLU, after an RMSNorm
//   decoder.norm                 RMSNorm
//   decoder.output               logits of the text's rows, and their loss
//
// An utterance of T frames and L labels has prefix + T + prompt + 1 + L rows after decoder.text.
// All of them are known from the index, so nothing is padded, and a cut may lie at any boundary:
// each stage from decoder.text on knows the numbers of labels.

namespace penstock::layers {
namespace {

using Sequence = std::vector<std::unique_ptr<Layer>>;

void add_block(Sequence& sequence, const DecoderOptions& options, int number) {
  const std::string block = fmt::format("decoder.block{}", number);
  sequence.push_back(attention_unit({.name = block + ".attention",
                                     .width = options.width,
                                     .heads = options.heads,
                                     .kv_heads = options.kv_heads,
                                     .head_channels = options.head_channels,
                                     .positions = AttentionPositions::rotary,
                                     .rotary_base = options.rotary_base,
                                     .right = 0,
                                     .centred = false,
                                     .epsilon = options.norm_epsilon,
                                     .qk_norm = options.qk_norm,
                                     .bias = false,
                                     .dropout = options.dropout}));
  sequence.push_back(feed_forward_unit({.name = block + ".feed_forward",
                                        .width = options.width,
                                        .inner = options.inner,
                                        .activation = GateKind::swiglu,
                                        .centred = false,
                                        .epsilon = options.norm_epsilon,
                                        .bias = false,
                                        .dropout = options.dropout}));
}

void add_layers(Sequence& sequence, int classes, const DecoderOptions& options) {
  sequence.push_back(std::make_unique<TextEmbedding>(
      TextEmbeddingOptions{.name = "decoder.text",
                           .classes = classes,
                           .width = options.width,
                           .prefix = {options.prefix.begin(), options.prefix.end()},
                           .prompt = {options.prompt.begin(), options.prompt.end()},
                           .prompts = {options.prompts.begin(), options.prompts.end()},
                           .bos = options.bos}));
  for (int i = 1; i <= options.layers; ++i) add_block(sequence, options, i);
  sequence.push_back(std::make_unique<LayerNorm>(LayerNormOptions{.name = "decoder.norm",
                                                                  .channels = options.width,
                                                                  .epsilon = options.norm_epsilon,
                                                                  .centred = false,
                                                                  .bias = false}));
  sequence.push_back(std::make_unique<TokenCrossEntropy>(
      TokenCrossEntropyOptions{.name = "decoder.output",
                               .classes = classes,
                               .width = options.width,
                               .eos = options.eos,
                               .smoothing = options.smoothing,
                               .tied_to = options.tied ? "decoder.text.weight" : ""}));
}

Loss language_model_loss(const DecoderOptions& options) {
  Loss loss;
  loss.channels = [width = options.width](int) { return width; };
  loss.add_layers = [options](Sequence& sequence, int classes) {
    add_layers(sequence, classes, options);
  };
  loss.frames_needed = [](std::span<const std::int32_t>) { return std::int64_t{1}; };
  loss.writing = TextWriting{.eos = options.eos};
  loss.beam_search = true;
  return loss;
}

std::vector<Contradiction> heads_contradictions(const DecoderOptions& options) {
  std::vector<Contradiction> found;
  const int width = options.width, heads = options.heads, channels = options.head_channels;
  if (channels == 0 && (width % heads != 0 || width / heads % 2 != 0))
    found.push_back({"decoder.heads",
                     fmt::format("{} of attention do not divide a width of {} into even numbers of "
                                 "channels, which rotary positions turn in pairs",
                                 counted(heads, "head"), width)});
  if (channels % 2 != 0)
    found.push_back(
        {"decoder.head_channels",
         fmt::format("rotary positions turn pairs of channels, but each head has {}", channels)});
  if (options.kv_heads > 0 && heads % options.kv_heads != 0)
    found.push_back({"decoder.kv_heads", fmt::format("{} of keys can't be shared equally by {}",
                                                     counted(options.kv_heads, "head"), heads)});
  return found;
}

}  // namespace

DecoderKind language_model_decoder() {
  return {.name = "lm",
          .loss = language_model_loss,
          .contradictions = heads_contradictions,
          .keys = {"decoder.width", "decoder.layers", "decoder.heads", "decoder.kv_heads",
                   "decoder.head_channels", "decoder.qk_norm", "decoder.inner",
                   "decoder.rotary_base", "decoder.norm_epsilon", "decoder.tied", "decoder.dropout",
                   "decoder.smoothing", "decoder.prefix", "decoder.prompt", "decoder.languages",
                   "decoder.prompts", "decoder.bos", "decoder.eos"}};
}

}  // namespace penstock::layers
