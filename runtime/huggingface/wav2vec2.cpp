#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {
namespace {

const std::vector<RequiredSetting> kWav2Vec2Wanted = {
    {"feat_extract_norm", R"("group")", R"("layer")"},
    {"feat_extract_activation", R"("gelu")", R"("gelu")"},
    {"do_stable_layer_norm", "false", "true"},
    {"conv_bias", "false", "true"},
    {"hidden_act", R"("gelu")", R"("gelu")"},
    {"layer_norm_eps", "1e-5", "1e-5"},
    {"add_adapter", "false", "false"},
    {"adapter_attn_dim", "null", "null"},
};

const std::vector<TensorRule> kFrontEnd = {
    {"wav2vec2.feature_extractor.conv_layers.{}.conv", "frontend.conv{}"},
    {"wav2vec2.feature_extractor.conv_layers.{}.layer_norm", "frontend.norm{}"},
};

const std::vector<TensorRule> kBeforeLayers = {
    {"wav2vec2.feature_projection.layer_norm", "projection.norm"},
    {"wav2vec2.feature_projection.projection", "projection.linear"},
    {.theirs = "wav2vec2.encoder.pos_conv_embed.conv.parametrizations.weight.original0",
     .ours = "positions.conv.weight_g",
     .alone = true,
     .formerly = "wav2vec2.encoder.pos_conv_embed.conv.weight_g"},
    {.theirs = "wav2vec2.encoder.pos_conv_embed.conv.parametrizations.weight.original1",
     .ours = "positions.conv.weight_v",
     .alone = true,
     .formerly = "wav2vec2.encoder.pos_conv_embed.conv.weight_v"},
    {.theirs = "wav2vec2.encoder.pos_conv_embed.conv.bias",
     .ours = "positions.conv.bias",
     .alone = true},
};

const std::vector<TensorRule> kEncoderLayer = {
    {"wav2vec2.encoder.layers.{}.layer_norm", "block{}.attention.norm"},
    {"wav2vec2.encoder.layers.{}.attention.q_proj", "block{}.attention.qkv", Rows::queries},
    {"wav2vec2.encoder.layers.{}.attention.k_proj", "block{}.attention.qkv", Rows::keys},
    {"wav2vec2.encoder.layers.{}.attention.v_proj", "block{}.attention.qkv", Rows::values},
    {"wav2vec2.encoder.layers.{}.attention.out_proj", "block{}.attention.output"},
    {"wav2vec2.encoder.layers.{}.final_layer_norm", "block{}.feed_forward.norm"},
    {"wav2vec2.encoder.layers.{}.feed_forward.intermediate_dense", "block{}.feed_forward.linear1"},
    {"wav2vec2.encoder.layers.{}.feed_forward.output_dense", "block{}.feed_forward.linear2"},
};

const std::vector<TensorRule> kBehindLayers = {
    {"wav2vec2.encoder.layer_norm", "norm"},
    {"lm_head", "output", Rows::labels},
};

const std::vector<KeptRule> kSpecAugment = {
    {.theirs = "wav2vec2.masked_spec_embed",
     .like = "norm.weight",
     .with = {{"mask_time_prob", "0.05"}, {"mask_feature_prob", "0.0"}}},
};

}  // namespace

Architecture wav2vec2_for_ctc() {
  return {
      .name = "Wav2Vec2ForCTC",
      .model_type = "wav2vec2",
      .fixed = {{"model.kind", "wav2vec2"}, {"model.features", "1"}, {"features.kind", "waveform"}},
      .model = {{"hidden_size", "768", "model.width"},
                {"num_attention_heads", "12", "model.heads"},
                {"num_hidden_layers", "12", "model.layers"},
                {"intermediate_size", "3072", "model.inner"},
                {"conv_kernel", "[10,3,3,3,3,2,2]", "model.kernels"},
                {"conv_stride", "[5,2,2,2,2,2,2]", "model.strides"},
                {"conv_dim", "[512,512,512,512,512,512,512]", "model.channels", Form::equal_list},
                {"num_conv_pos_embeddings", "128", "model.position_kernel"},
                {"num_conv_pos_embedding_groups", "16", "model.position_groups"},
                {"hidden_dropout", "0.1", "model.dropout"},
                {"layerdrop", "0.1", "model.layer_drop"}},
      .exported_too = {{"attention_dropout", "0.1", "model.dropout"},
                       {"activation_dropout", "0.1", "model.dropout"}},
      .wanted = kWav2Vec2Wanted,
      .features = {{"sampling_rate", "16000", "features.sample_rate"}},
      .wanted_features = {{"feature_extractor_type", R"("Wav2Vec2FeatureExtractor")",
                           R"("Wav2Vec2FeatureExtractor")"},
                          {"feature_size", "1", "1"},
                          {"do_normalize", "true", "true"}},
      .tensors = {{"model.kernels", kFrontEnd},
                  {"1", kBeforeLayers},
                  {"model.layers", kEncoderLayer},
                  {"1", kBehindLayers, kSpecAugment}},
      .blank = "0",
      .tokenizer = TokenizerKind::characters,
  };
}

}  // namespace penstock::runtime
