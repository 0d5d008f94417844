#include "runtime/huggingface/architecture.h"
#include "runtime/huggingface/span_mask_settings.h"

namespace penstock::runtime {
namespace {

// Tables for w2v-BERT 2.0 with a CTC head: Conformer blocks with Shaw's relative positions and with
// causal convolutions followed by a layer norm, on filter banks with two stacked frames.
//
// Its features are Kaldi's filter bank, which penstock computes with the fixed values below. The
// layers of its adapter, which some published models have, shorten the sequence and have no
// counterpart here.

const std::vector<MappedSetting> kW2vBertModel = {
    {"hidden_size", "1024", "model.width"},
    {"num_attention_heads", "16", "model.heads"},
    {"num_hidden_layers", "24", "model.layers"},
    {"intermediate_size", "4096", "model.inner"},
    {"feature_projection_input_dim", "160", "model.features"},
    {"conv_depthwise_kernel_size", "31", "model.kernel"},
    {"left_max_position_embeddings", "64", "model.left_positions", Form::from_zero},
    {"right_max_position_embeddings", "8", "model.right_positions", Form::from_zero},
    {"hidden_dropout", "0.0", "model.dropout"},
    {"feat_proj_dropout", "0.0", "model.input_dropout"},
    {"layerdrop", "0.1", "model.layer_drop"},
};

const std::vector<RequiredSetting> kW2vBertWanted = {
    {.theirs = "hidden_act", .absent = R"("swish")", .value = R"("swish")", .same_as = R"("silu")"},
    {"layer_norm_eps", "1e-5", "1e-5"},
    {"position_embeddings_type", R"("relative_key")", R"("relative_key")"},
    {.theirs = "add_adapter",
     .absent = "false",
     .value = "false",
     .remedy = "It has convolutions and attention after the encoder, which shorten the utterance. "
               "Import a model without them, such as facebook/w2v-bert-2.0 with a new head, and "
               "train that"},
};

const std::vector<RequiredSetting> kW2vBertWantedFeatures = {
    {"feature_extractor_type", R"("SeamlessM4TFeatureExtractor")",
     R"("SeamlessM4TFeatureExtractor")"},
    {"sampling_rate", "16000", "16000"},
    {"stride", "2", "2"}};

const std::vector<TensorRule> kW2vBertFront = {
    {"feature_projection.layer_norm", "projection.norm"},
    {"feature_projection.projection", "projection.linear"},
};

const std::vector<TensorRule> kW2vBertBlock = {
    {"encoder.layers.{}.ffn1_layer_norm", "block{}.feed_forward1.norm"},
    {"encoder.layers.{}.ffn1.intermediate_dense", "block{}.feed_forward1.linear1"},
    {"encoder.layers.{}.ffn1.output_dense", "block{}.feed_forward1.linear2"},
    {"encoder.layers.{}.self_attn_layer_norm", "block{}.attention.norm"},
    {"encoder.layers.{}.self_attn.linear_q", "block{}.attention.qkv", Rows::queries},
    {"encoder.layers.{}.self_attn.linear_k", "block{}.attention.qkv", Rows::keys},
    {"encoder.layers.{}.self_attn.linear_v", "block{}.attention.qkv", Rows::values},
    {"encoder.layers.{}.self_attn.distance_embedding", "block{}.attention.core.positions"},
    {"encoder.layers.{}.self_attn.linear_out", "block{}.attention.output"},
    {"encoder.layers.{}.conv_module.layer_norm", "block{}.convolution.norm"},
    {.theirs = "encoder.layers.{}.conv_module.pointwise_conv1",
     .ours = "block{}.convolution.pointwise1",
     .axes = Axes::one_last},
    {.theirs = "encoder.layers.{}.conv_module.depthwise_conv",
     .ours = "block{}.convolution.depthwise",
     .axes = Axes::one_second},
    {"encoder.layers.{}.conv_module.depthwise_layer_norm", "block{}.convolution.depthwise_norm"},
    {.theirs = "encoder.layers.{}.conv_module.pointwise_conv2",
     .ours = "block{}.convolution.pointwise2",
     .axes = Axes::one_last},
    {"encoder.layers.{}.ffn2_layer_norm", "block{}.feed_forward2.norm"},
    {"encoder.layers.{}.ffn2.intermediate_dense", "block{}.feed_forward2.linear1"},
    {"encoder.layers.{}.ffn2.output_dense", "block{}.feed_forward2.linear2"},
    {"encoder.layers.{}.final_layer_norm", "block{}.norm"},
};

const std::vector<TensorRule> kW2vBertHead = {{"lm_head", "output", Rows::labels}};

constexpr std::string_view kW2vBertPrefix = "wav2vec2_bert.";

}  // namespace

Architecture wav2vec2_bert_for_ctc() {
  Architecture architecture = {
      .name = "Wav2Vec2BertForCTC",
      .model_type = "wav2vec2-bert",
      .library = "transformers.models.wav2vec2_bert.modeling_wav2vec2_bert",
      .fixed = {{"model.kind", "conformer"},
                {"model.subsampling", "1"},
                {"model.positions", "shaw"},
                {"model.causal_convolution", "true"},
                {"model.convolution_norm", "layer"},
                {"model.attention_bias", "true"},
                {"model.convolution_bias", "false"},
                {"model.scale_input", "false"},
                {"model.left_context", "-1"},
                {"model.right_context", "-1"},
                {.ours = "model.output_dropout", .value = "true", .training_only = true},
                {"features.kind", "fbank"},
                {"features.sample_rate", "16000"},
                {"features.window_ms", "25"},
                {"features.hop_ms", "10"},
                {"features.window", "povey"},
                {"features.fft", "512"},
                {"features.preemphasis", "0.97"},
                {"features.normalise", "channel"},
                {"features.epsilon", "1e-07"},
                {"features.stack", "2"}},
      .multiples = {{"model.inner", "model.width", 4}},
      .model = kW2vBertModel,
      .exported_too = {{"attention_dropout", "0.0", "model.dropout"},
                       {"activation_dropout", "0.0", "model.dropout"},
                       {"conformer_conv_dropout", "0.1", "model.dropout"}},
      .wanted = kW2vBertWanted,
      // transformers computes num_mel_bins features, whatever feature_size says. Its windows have
      // 400 samples at every rate, and its masks fit no other stride.
      .features = {{"feature_size", "80", "features.mels"},
                   {"num_mel_bins", "80", "features.mels"}},
      .wanted_features = kW2vBertWantedFeatures,
      .tensors = {{.repeats = "1", .rules = kW2vBertFront, .prefix = kW2vBertPrefix},
                  {.repeats = "model.layers", .rules = kW2vBertBlock, .prefix = kW2vBertPrefix},
                  {.repeats = "1", .rules = kW2vBertHead}},
      .blank = "0",
      .tokenizer = TokenizerKind::characters,
      .prefix = kW2vBertPrefix,
      .headless = {{"Wav2Vec2BertModel", ""}},
  };
  add_span_masks(architecture);
  return architecture;
}

}  // namespace penstock::runtime
