#include "runtime/huggingface/architecture.h"
#include "runtime/huggingface/span_mask_settings.h"

namespace penstock::runtime {
namespace {

// Tables for encoders on raw audio. wav2vec 2.0 and HuBERT have the same tensors under two
// prefixes. They also have the same settings, which select the norms of base or of large models.

const std::vector<TensorRule> kFrontEnd = {
    {"feature_extractor.conv_layers.{}.conv", "frontend.conv{}"},
    {.theirs = "feature_extractor.conv_layers.{}.layer_norm",
     .ours = "frontend.norm{}",
     .not_always = true},
};

// PyTorch has renamed the two tensors of weight normalisation, so folders of both ages are read.
const std::vector<TensorRule> kBeforeLayers = {
    {.theirs = "feature_projection.layer_norm", .ours = "projection.norm", .not_always = true},
    {"feature_projection.projection", "projection.linear"},
    {.theirs = "encoder.pos_conv_embed.conv.parametrizations.weight.original0",
     .ours = "positions.conv.weight_g",
     .alone = true,
     .formerly = "encoder.pos_conv_embed.conv.weight_g"},
    {.theirs = "encoder.pos_conv_embed.conv.parametrizations.weight.original1",
     .ours = "positions.conv.weight_v",
     .alone = true,
     .formerly = "encoder.pos_conv_embed.conv.weight_v"},
    {.theirs = "encoder.pos_conv_embed.conv.bias", .ours = "positions.conv.bias", .alone = true},
};

const std::vector<TensorRule> kEncoderLayer = {
    {"encoder.layers.{}.layer_norm", "block{}.attention.norm"},
    {"encoder.layers.{}.attention.q_proj", "block{}.attention.qkv", Rows::queries},
    {"encoder.layers.{}.attention.k_proj", "block{}.attention.qkv", Rows::keys},
    {"encoder.layers.{}.attention.v_proj", "block{}.attention.qkv", Rows::values},
    {"encoder.layers.{}.attention.out_proj", "block{}.attention.output"},
    {"encoder.layers.{}.final_layer_norm", "block{}.feed_forward.norm"},
    {"encoder.layers.{}.feed_forward.intermediate_dense", "block{}.feed_forward.linear1"},
    {"encoder.layers.{}.feed_forward.output_dense", "block{}.feed_forward.linear2"},
    {.theirs = "encoder.layers.{}.adapter_layer.norm",
     .ours = "block{}.adapter.norm",
     .not_always = true},
    {.theirs = "encoder.layers.{}.adapter_layer.linear_1",
     .ours = "block{}.adapter.linear1",
     .not_always = true},
    {.theirs = "encoder.layers.{}.adapter_layer.linear_2",
     .ours = "block{}.adapter.linear2",
     .not_always = true},
};

const std::vector<TensorRule> kEncoderNorm = {{"encoder.layer_norm", "norm"}};

const std::vector<TensorRule> kHead = {{"lm_head", "output", Rows::labels}};

struct Names {
  std::string_view architecture, model_type, library, prefix;
};

// feat_extract_norm and do_stable_layer_norm tell base models (group norm, post-norm) from large
// ones. penstock has one dropout where transformers has several, so the others are written at an
// export and ignored by an import.
/// Returns the parts that both architectures share.
Architecture encoder_on_raw_audio(const Names& names) {
  Architecture architecture = {
      .name = names.architecture,
      .model_type = names.model_type,
      .library = names.library,
      .fixed = {{"model.kind", "wav2vec2"},
                {"model.features", "1"},
                {"model.position_weight_norm", "true"},
                {"features.kind", "waveform"},
                {"features.epsilon", "1e-07"}},
      .model = {{"hidden_size", "768", "model.width"},
                {"num_attention_heads", "12", "model.heads"},
                {"num_hidden_layers", "12", "model.layers"},
                {"intermediate_size", "3072", "model.inner"},
                {"conv_kernel", "[10,3,3,3,3,2,2]", "model.kernels"},
                {"conv_stride", "[5,2,2,2,2,2,2]", "model.strides"},
                {"conv_dim", "[512,512,512,512,512,512,512]", "model.channels", Form::equal_list},
                {"feat_extract_norm", R"("group")", "model.frontend_norm", Form::text},
                {"conv_bias", "false", "model.frontend_bias"},
                {"do_stable_layer_norm", "false", "model.norm_first"},
                {"num_conv_pos_embeddings", "128", "model.position_kernel"},
                {"num_conv_pos_embedding_groups", "16", "model.position_groups"},
                {"hidden_dropout", "0.1", "model.dropout"},
                {"layerdrop", "0.1", "model.layer_drop"}},
      .exported_too = {{"attention_dropout", "0.1", "model.dropout"},
                       {"activation_dropout", "0.1", "model.dropout"}},
      .wanted = {{"feat_extract_activation", R"("gelu")", R"("gelu")"},
                 {"hidden_act", R"("gelu")", R"("gelu")"},
                 {"layer_norm_eps", "1e-5", "1e-5"}},
      .features = {{"sampling_rate", "16000", "features.sample_rate"}},
      .wanted_features = {{"feature_extractor_type", R"("Wav2Vec2FeatureExtractor")",
                           R"("Wav2Vec2FeatureExtractor")"},
                          {"feature_size", "1", "1"},
                          {"do_normalize", "true", "true"}},
      .tensors = {{.repeats = "model.kernels", .rules = kFrontEnd, .prefix = names.prefix},
                  {.repeats = "1", .rules = kBeforeLayers, .prefix = names.prefix},
                  {.repeats = "model.layers", .rules = kEncoderLayer, .prefix = names.prefix},
                  {.repeats = "1", .rules = kEncoderNorm, .prefix = names.prefix},
                  {.repeats = "1", .rules = kHead}},
      .blank = "0",
      .tokenizer = TokenizerKind::characters,
      .prefix = names.prefix,
  };
  add_span_masks(architecture);
  return architecture;
}

}  // namespace

Architecture wav2vec2_for_ctc() {
  Architecture architecture =
      encoder_on_raw_audio({"Wav2Vec2ForCTC", "wav2vec2",
                            "transformers.models.wav2vec2.modeling_wav2vec2", "wav2vec2."});
  architecture.fixed.push_back({"model.projection_norm", "true"});
  architecture.wanted.push_back({"add_adapter", "false", "false"});
  architecture.model.push_back({"adapter_attn_dim", "null", "model.adapter", Form::or_null});
  architecture.headless = {
      {"Wav2Vec2ForPreTraining", "wav2vec2.", {"quantizer.", "project_q.", "project_hid."}},
      {"Wav2Vec2Model", ""}};
  return architecture;
}

Architecture hubert_for_ctc() {
  Architecture architecture = encoder_on_raw_audio(
      {"HubertForCTC", "hubert", "transformers.models.hubert.modeling_hubert", "hubert."});
  architecture.fixed.push_back({"model.adapter", "0"});
  architecture.wanted.push_back({"adapter_attn_dim", "null", "null"});
  architecture.model.push_back({"feat_proj_layer_norm", "true", "model.projection_norm"});
  architecture.wanted.push_back({"conv_pos_batch_norm", "false", "false"});
  architecture.headless = {{"HubertModel", ""}};
  return architecture;
}

}  // namespace penstock::runtime
