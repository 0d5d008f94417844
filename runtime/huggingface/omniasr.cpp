#include "runtime/huggingface/architecture.h"

namespace penstock::runtime {
namespace {

// Tables for Omnilingual ASR's CTC recognisers, in transformers since 5.24: a wav2vec 2.0 encoder
// with its own tensor names, the norms of large models, and positions without weight normalisation.
// The blank is blank_token_id; the tokenizer's pad token is another label.

const std::vector<MappedSetting> kOmniAsrModel = {
    {"audio_config.hidden_size", "1024", "model.width"},
    {"audio_config.num_attention_heads", "16", "model.heads"},
    {"audio_config.num_hidden_layers", "24", "model.layers"},
    {"audio_config.intermediate_size", "4096", "model.inner"},
    {"audio_config.conv_kernel", "[10,3,3,3,3,2,2]", "model.kernels"},
    {"audio_config.conv_stride", "[5,2,2,2,2,2,2]", "model.strides"},
    {"audio_config.conv_dim", "[512,512,512,512,512,512,512]", "model.channels", Form::equal_list},
    {"audio_config.conv_bias", "true", "model.frontend_bias"},
    {"audio_config.num_conv_pos_embeddings", "128", "model.position_kernel"},
    {"audio_config.num_conv_pos_embedding_groups", "16", "model.position_groups"},
    {"audio_config.hidden_dropout", "0.1", "model.dropout"},
    {"audio_config.layerdrop", "0.1", "model.layer_drop"},
};

const std::vector<TensorRule> kOmniAsrFrontEnd = {
    {"subsampling.conv_layers.{}.conv", "frontend.conv{}"},
    {"subsampling.conv_layers.{}.layer_norm", "frontend.norm{}"},
};

const std::vector<TensorRule> kOmniAsrBeforeLayers = {
    {"subsampling.layer_norm", "projection.norm"},
    {"subsampling.projection", "projection.linear"},
    {"encode_positions.conv", "positions.conv"},
};

const std::vector<TensorRule> kOmniAsrEncoderLayer = {
    {"layers.{}.layer_norm", "block{}.attention.norm"},
    {"layers.{}.attention.q_proj", "block{}.attention.qkv", Rows::queries},
    {"layers.{}.attention.k_proj", "block{}.attention.qkv", Rows::keys},
    {"layers.{}.attention.v_proj", "block{}.attention.qkv", Rows::values},
    {"layers.{}.attention.out_proj", "block{}.attention.output"},
    {"layers.{}.final_layer_norm", "block{}.feed_forward.norm"},
    {"layers.{}.feed_forward.intermediate_dense", "block{}.feed_forward.linear1"},
    {"layers.{}.feed_forward.output_dense", "block{}.feed_forward.linear2"},
};

const std::vector<TensorRule> kOmniAsrEncoderNorm = {{"layer_norm", "norm"}};

const std::vector<TensorRule> kOmniAsrHead = {{"ctc_head", "output", Rows::labels}};

constexpr std::string_view kOmniAsrTower = "model.audio_tower.";

}  // namespace

Architecture omniasr_for_ctc() {
  return {
      .name = "OmniASRForCTC",
      .model_type = "omniasr_ctc",
      .library = "transformers.models.omniasr_ctc.modeling_omniasr_ctc",
      .fixed = {{"model.kind", "wav2vec2"},
                {"model.features", "1"},
                {"model.frontend_norm", "layer"},
                {"model.projection_norm", "true"},
                {"model.norm_first", "true"},
                {"model.position_weight_norm", "false"},
                {"model.adapter", "0"},
                {"features.kind", "waveform"},
                {"features.epsilon", "1e-05"}},
      .model = kOmniAsrModel,
      .exported_too = {{"audio_config.attention_dropout", "0.0", "model.dropout"},
                       {"audio_config.activation_dropout", "0.1", "model.dropout"}},
      .wanted = {{"audio_config.model_type", R"("omniasr_audio")", R"("omniasr_audio")"},
                 {"audio_config.hidden_act", R"("gelu")", R"("gelu")"},
                 {"audio_config.layer_norm_eps", "1e-5", "1e-5"}},
      .features = {{"sampling_rate", "16000", "features.sample_rate"}},
      .wanted_features = {{"feature_extractor_type", R"("OmniASRFeatureExtractor")",
                           R"("OmniASRFeatureExtractor")"},
                          {"feature_size", "1", "1"},
                          {"do_normalize", "true", "true"}},
      .tensors = {{.repeats = "model.kernels", .rules = kOmniAsrFrontEnd, .prefix = kOmniAsrTower},
                  {.repeats = "1", .rules = kOmniAsrBeforeLayers, .prefix = kOmniAsrTower},
                  {.repeats = "model.layers",
                   .rules = kOmniAsrEncoderLayer,
                   .prefix = kOmniAsrTower},
                  {.repeats = "1", .rules = kOmniAsrEncoderNorm, .prefix = kOmniAsrTower},
                  {.repeats = "1", .rules = kOmniAsrHead}},
      .blank_setting = "blank_token_id",
      .blank = "0",
      .tokenizer = TokenizerKind::pieces,
  };
}

}  // namespace penstock::runtime
