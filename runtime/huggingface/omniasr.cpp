#include <algorithm>
#include <iterator>

#include "runtime/huggingface/architecture.h"

// Omnilingual ASR's recognisers, in transformers since 5.24, have a wav2vec 2.0 encoder with its
// own tensor names, the norms of large models, and positions without weight normalisation.
//
// OmniASRForCTC's blank is blank_token_id; the tokenizer's pad token is another label.
//
// OmniASRForConditionalGeneration has a Llama after the encoder, which reads the projected frames
// and then the text. transformers builds its input of tokens and replaces the placeholders by
// frames:
//
//   <extra_id_1> … <extra_id_0> <|lang:eng_latn|> <s> the text </s>
//   frames         the prompt                     bos  labels   eos
//
// Its ids are penstock's labels as they are, since <s>, with id 0, is in no text, as a blank is
// none. SwiGLU is one product of penstock, whose first half gates, and two of transformers.

namespace penstock::runtime {
namespace {

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

const std::vector<MappedSetting> kOmniAsrTextModel = {
    {"text_config.hidden_size", "4096", "decoder.width"},
    {"text_config.num_attention_heads", "8", "decoder.heads"},
    {"text_config.num_hidden_layers", "12", "decoder.layers"},
    {"text_config.intermediate_size", "2816", "decoder.inner"},
    {.theirs = "text_config.rope_parameters.rope_theta",
     .absent = "10000.0",
     .ours = "decoder.rotary_base",
     .formerly = "text_config.rope_theta"},
    {"text_config.attention_dropout", "0.0", "decoder.dropout"},
    {"text_config.vocab_size", "11984", "model.classes"},
    {"bos_token_id", "0", "decoder.bos", Form::from_zero},
    {"eos_token_id", "2", "decoder.eos", Form::from_zero},
};

const std::vector<RequiredSetting> kOmniAsrTextWanted = {
    {"text_config.model_type", R"("llama")", R"("llama")"},
    {"text_config.hidden_act", R"("silu")", R"("silu")"},
    {"text_config.rms_norm_eps", "1e-5", "1e-5"},
    {"text_config.attention_bias", "false", "false"},
    {"text_config.mlp_bias", "false", "false"},
    {"text_config.rope_parameters.rope_type", R"("default")", R"("default")"},
    {"text_config.rope_scaling", "null", "null"},
    {.theirs = "text_config.tie_word_embeddings",
     .absent = "false",
     .value = "false",
     .remedy = "This import needs a head of its own: save the model with one"},
};

const std::vector<TensorRule> kOmniAsrText = {
    {"model.multi_modal_projector", "output"},
    {"model.language_model.embed_tokens", "decoder.text", Rows::labels},
    {"model.language_model.norm", "decoder.norm"},
    {"lm_head", "decoder.output", Rows::labels},
};

const std::vector<TensorRule> kOmniAsrTextLayer = {
    {"model.language_model.layers.{}.input_layernorm", "decoder.block{}.attention.norm"},
    {"model.language_model.layers.{}.self_attn.q_proj", "decoder.block{}.attention.qkv",
     Rows::queries},
    {"model.language_model.layers.{}.self_attn.k_proj", "decoder.block{}.attention.qkv",
     Rows::keys},
    {"model.language_model.layers.{}.self_attn.v_proj", "decoder.block{}.attention.qkv",
     Rows::values},
    {"model.language_model.layers.{}.self_attn.o_proj", "decoder.block{}.attention.output"},
    {"model.language_model.layers.{}.post_attention_layernorm",
     "decoder.block{}.feed_forward.norm"},
    {"model.language_model.layers.{}.mlp.gate_proj", "decoder.block{}.feed_forward.linear1",
     Rows::gates},
    {"model.language_model.layers.{}.mlp.up_proj", "decoder.block{}.feed_forward.linear1",
     Rows::gated},
    {"model.language_model.layers.{}.mlp.down_proj", "decoder.block{}.feed_forward.linear2"},
};

constexpr std::string_view kOmniAsrTower = "model.audio_tower.";

/// Names of a class, and what follows its encoder.
struct OmniAsrNames {
  std::string_view name, model_type, library, decoder;
};

/// Returns all but what follows the encoder.
Architecture omniasr(const OmniAsrNames& names) {
  return {
      .name = names.name,
      .model_type = names.model_type,
      .library = names.library,
      .decoder = names.decoder,
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
                  {.repeats = "1", .rules = kOmniAsrEncoderNorm, .prefix = kOmniAsrTower}},
      .blank = "0",
      .tokenizer = TokenizerKind::pieces,
  };
}

}  // namespace

Architecture omniasr_for_ctc() {
  Architecture architecture =
      omniasr({"OmniASRForCTC", "omniasr_ctc",
               "transformers.models.omniasr_ctc.modeling_omniasr_ctc", "ctc"});
  architecture.tensors.push_back({"1", kOmniAsrHead});
  architecture.blank_setting = "blank_token_id";
  return architecture;
}

Architecture omniasr_for_conditional_generation() {
  Architecture architecture = omniasr({"OmniASRForConditionalGeneration", "omniasr",
                                       "transformers.models.omniasr.modeling_omniasr", "lm"});
  std::ranges::copy(kOmniAsrTextModel, std::back_inserter(architecture.model));
  std::ranges::copy(kOmniAsrTextWanted, std::back_inserter(architecture.wanted));
  architecture.derived = {
      {.theirs = "text_config.num_key_value_heads",
       .of = "decoder.heads",
       .remedy = "Heads that share keys and values are not supported"},
      {.theirs = "text_config.head_dim", .of = "decoder.width", .per = "decoder.heads"}};
  architecture.generation = {{"bos_token_id", "0", "decoder.bos"},
                             {"eos_token_id", "2", "decoder.eos"}};
  architecture.tensors.push_back({"1", kOmniAsrText});
  architecture.tensors.push_back({.repeats = "decoder.layers", .rules = kOmniAsrTextLayer});
  for (const std::string_view key : {"decoder.kv_heads", "decoder.head_channels"})
    architecture.fixed.push_back({key, "0"});
  for (const std::string_view key : {"decoder.qk_norm", "decoder.tied"})
    architecture.fixed.push_back({key, "false"});
  architecture.fixed.push_back({"decoder.norm_epsilon", "1e-05"});
  architecture.rows_setting = "text_config.vocab_size";
  architecture.rows = "11984";
  architecture.unnamed_rows = true;
  architecture.free_row_setting = "audio_token_id";
  architecture.blank_setting = "";
  architecture.blank_token = "<s>";
  architecture.language_prompt = {"<extra_id_0>", "<|lang:{}|>"};
  return architecture;
}

}  // namespace penstock::runtime
