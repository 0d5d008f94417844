#include "tests/support/runtime/small_families.h"

#include <algorithm>
#include <iterator>

#include "layers/models/conformer.h"
#include "layers/models/qwen3_asr.h"
#include "layers/models/transformer.h"
#include "layers/models/wav2letter.h"
#include "layers/models/wav2vec2.h"
#include "layers/models/whisper.h"

namespace penstock::test {

namespace {

std::vector<SmallFamily> conformers() {
  return {{.name = "conformer",
           .options = layers::ConformerOptions{.width = 12,
                                               .heads = 3,
                                               .layers = 2,
                                               .kernel = 5,
                                               .dropout = 0.1,
                                               .layer_drop = 0.3},
           .networks = {.smoothing = 0.1}},
          {"fastconformer", layers::ConformerOptions{.width = 12,
                                                     .heads = 3,
                                                     .layers = 2,
                                                     .kernel = 5,
                                                     .subsampling = 8,
                                                     .channels = 5,
                                                     .scale_input = true,
                                                     .attention_bias = false,
                                                     .dropout = 0.1,
                                                     .input_dropout = 0.1,
                                                     .output_dropout = false,
                                                     .intermediate = {{1}, 0.5}}},
          {"w2v_bert",
           layers::ConformerOptions{.width = 12,
                                    .heads = 3,
                                    .layers = 2,
                                    .kernel = 5,
                                    .causal_convolution = true,
                                    .convolution_norm = "layer",
                                    .subsampling = 1,
                                    .positions = "shaw",
                                    .left_positions = 4,
                                    .right_positions = 2,
                                    .convolution_bias = false,
                                    .dropout = 0.1,
                                    .input_dropout = 0.1,
                                    .layer_drop = 0.3,
                                    .masks = {.time = {0.3, 3, 1}, .features = {0.2, 2, 1}}}},
          {"absolute_conformer", layers::ConformerOptions{.width = 12,
                                                          .heads = 3,
                                                          .layers = 2,
                                                          .kernel = 5,
                                                          .positions = "absolute",
                                                          .scale_input = true,
                                                          .dropout = 0.1,
                                                          .input_dropout = 0.1}}};
}

/// With the norms of large models, and with those of base ones, which are conditioned on CTC; with
/// masks of frames and channels.
std::vector<SmallFamily> wav2vec2s() {
  layers::Wav2Vec2Options options{.channels = 6,
                                  .kernels = {3, 2},
                                  .strides = {2, 1},
                                  .width = 12,
                                  .heads = 3,
                                  .layers = 2,
                                  .inner = 20,
                                  .position_kernel = 6,
                                  .position_groups = 3,
                                  .dropout = 0.1,
                                  .layer_drop = 0.3};
  options.masks = {.time = {0.3, 3, 1}, .features = {0.2, 2, 1}};
  std::vector<SmallFamily> families = {{"wav2vec2", options, 1}};
  options.frontend_norm = "group";
  options.frontend_bias = false;
  options.norm_first = false;
  options.intermediate = {{1}, 0.5, true};
  families.push_back({"wav2vec2_base", options, 1});
  return families;
}

/// An RNN-T with an LSTM of two layers and CTC after a block, a TDT with a stateless prediction
/// network, and an RNN-T beside CTC.
std::vector<SmallFamily> transducers() {
  const layers::TransformerOptions encoder{
      .channels = 5, .width = 12, .heads = 3, .layers = 2, .inner = 20, .dropout = 0.1};
  layers::TransformerOptions with_ctc = encoder;
  with_ctc.intermediate = {{1}, 0.5};
  return {{.name = "rnnt",
           .options = with_ctc,
           .decoder = "rnnt",
           .networks = {.width = 7, .layers = 2, .joint = 9}},
          {.name = "tdt",
           .options = encoder,
           .decoder = "tdt",
           .networks = {.prediction = "stateless",
                        .width = 8,
                        .joint = 9,
                        .activation = "tanh",
                        .durations = {0, 1, 3}}},
          {.name = "rnnt_beside_ctc",
           .options = encoder,
           .decoder = "rnnt",
           .networks = {.width = 7, .joint = 9, .ctc_weight = 0.3}}};
}

/// Decoders that attend to a Transformer's output: one with learned positions and all options,
/// beside CTC, and one with sinusoids, of the encoder's own width.
std::vector<SmallFamily> attention_decoders() {
  const layers::TransformerOptions encoder{
      .channels = 5, .width = 12, .heads = 3, .layers = 1, .inner = 20, .dropout = 0.1};
  return {{.name = "attention",
           .options = encoder,
           .decoder = "attention",
           .networks = {.width = 8,
                        .layers = 2,
                        .activation = "gelu",
                        .ctc_weight = 0.3,
                        .heads = 4,
                        .kv_heads = 2,
                        .inner = 11,
                        .dropout = 0.1,
                        .smoothing = 0.1,
                        .prompt = {3, 1},
                        .languages = {"en", "de"},
                        .prompts = {4, 1, 2, 3},
                        .positions = "learned",
                        .max_positions = 40,
                        .embedding_norm = true,
                        .head_bias = true}},
          {.name = "attention_unprojected",
           .options = encoder,
           .decoder = "attention",
           .networks = {.width = 12,
                        .layers = 1,
                        .heads = 3,
                        .inner = 14,
                        .tied = true,
                        .embedding_scale = 3.5,
                        .bias = false,
                        .head_bias = true,
                        .project = false}}};
}

/// Language models after a Transformer, with a prompt of two labels: as Llama, and as Qwen3 has it,
/// with a prefix too.
std::vector<SmallFamily> language_models() {
  return {
      {.name = "lm",
       .options =
           layers::TransformerOptions{
               .channels = 5, .width = 12, .heads = 3, .layers = 1, .inner = 20, .dropout = 0.1},
       .decoder = "lm",
       .networks = {.width = 8,
                    .layers = 2,
                    .heads = 4,
                    .kv_heads = 2,
                    .inner = 11,
                    .dropout = 0.1,
                    .smoothing = 0.1,
                    .prompt = {3, 1}}},
      {.name = "lm_tied",
       .options =
           layers::TransformerOptions{
               .channels = 5, .width = 12, .heads = 3, .layers = 1, .inner = 20, .dropout = 0.1},
       .decoder = "lm",
       .networks = {.width = 8,
                    .layers = 1,
                    .heads = 2,
                    .kv_heads = 1,
                    .head_channels = 6,
                    .qk_norm = true,
                    .inner = 11,
                    .norm_epsilon = 1e-6,
                    .tied = true,
                    .dropout = 0.1,
                    .prefix = {2, 1, 4},
                    .prompt = {3, 1},
                    .languages = {"en"},
                    .prompts = {4, 4}}}};
}

}  // namespace

std::vector<SmallFamily> small_families() {
  std::vector<SmallFamily> families = {
      {"transformer", layers::TransformerOptions{.channels = 5,
                                                 .width = 12,
                                                 .heads = 3,
                                                 .layers = 2,
                                                 .inner = 20,
                                                 .dropout = 0.1,
                                                 .layer_drop = 0.3}},
      {"absolute_transformer", layers::TransformerOptions{.channels = 5,
                                                          .width = 12,
                                                          .heads = 3,
                                                          .layers = 2,
                                                          .inner = 20,
                                                          .positions = "absolute",
                                                          .dropout = 0.1}},
      {"gated_transformer", layers::TransformerOptions{.channels = 5,
                                                       .width = 12,
                                                       .heads = 3,
                                                       .layers = 2,
                                                       .inner = 20,
                                                       .activation = "swiglu",
                                                       .norm = "rms",
                                                       .left_context = 3,
                                                       .right_context = 1,
                                                       .dropout = 0.1}},
      {"whisper",
       layers::WhisperOptions{
           .width = 12, .heads = 3, .layers = 2, .inner = 20, .dropout = 0.1, .layer_drop = 0.3}},
      {"qwen3_asr", layers::Qwen3AsrOptions{.channels = 5,
                                            .chunk = 20,
                                            .window = 40,
                                            .width = 12,
                                            .heads = 3,
                                            .layers = 2,
                                            .inner = 20,
                                            .dropout = 0.1,
                                            .layer_drop = 0.3}},
      {"wav2letter", layers::Wav2LetterOptions{.channels = {5, 7},
                                               .kernels = {3, 4},
                                               .repeats = {1, 2},
                                               .strides = {2, 1},
                                               .dilations = {1, 2},
                                               .dropouts = {0.1, 0}}}};
  for (std::vector<SmallFamily> more :
       {wav2vec2s(), conformers(), transducers(), language_models(), attention_decoders()})
    std::ranges::move(more, std::back_inserter(families));
  return families;
}

}  // namespace penstock::test
