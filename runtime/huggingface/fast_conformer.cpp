#include "runtime/huggingface/fast_conformer.h"

// NVIDIA's FastConformer is the encoder of Parakeet's, Canary's and Cohere's recognisers. Its
// tensors differ from penstock's in layout alone. Images lie as [channel][time][frequency] there
// and as [frequency][channel] in a row here, so kernels are transposed and the columns of the
// subsampling's linear layer permuted. Convolutions with a kernel of 1 are products here. The
// biases u and v of attention have an axis for the heads.
//
// Its features are NeMo's log-mel energies: a symmetric Hann window, pre-emphasis, each channel
// normalised over the utterance, and no frame at the end that lies half beyond the recording.

namespace penstock::runtime {
namespace {

const std::vector<MappedSetting> kEncoderSettings = {
    {"encoder_config.hidden_size", "1024", "model.width"},
    {"encoder_config.num_attention_heads", "8", "model.heads"},
    {"encoder_config.num_hidden_layers", "24", "model.layers"},
    {"encoder_config.intermediate_size", "4096", "model.inner"},
    {"encoder_config.conv_kernel_size", "9", "model.kernel"},
    {"encoder_config.subsampling_conv_channels", "256", "model.channels"},
    {"encoder_config.num_mel_bins", "80", "model.features"},
    {"encoder_config.scale_input", "true", "model.scale_input"},
    {"encoder_config.attention_bias", "true", "model.attention_bias"},
    {"encoder_config.convolution_bias", "true", "model.convolution_bias"},
    {"encoder_config.activation_dropout", "0.1", "model.dropout"},
    {"encoder_config.dropout", "0.1", "model.input_dropout"},
    {"encoder_config.layerdrop", "0.1", "model.layer_drop"},
};

const std::vector<RequiredSetting> kEncoderWanted = {
    {"encoder_config.model_type", R"("parakeet_encoder")", R"("parakeet_encoder")"},
    {"encoder_config.hidden_act", R"("silu")", R"("silu")"},
    {"encoder_config.subsampling_factor", "8", "8"},
    {"encoder_config.subsampling_conv_kernel_size", "3", "3"},
    {"encoder_config.subsampling_conv_stride", "2", "2"},
    {"encoder_config.dropout_positions", "0.0", "0.0"},
};

const std::vector<TensorRule> kConformerBlock = {
    {"encoder.layers.{}.norm_feed_forward1", "block{}.feed_forward1.norm"},
    {"encoder.layers.{}.feed_forward1.linear1", "block{}.feed_forward1.linear1"},
    {"encoder.layers.{}.feed_forward1.linear2", "block{}.feed_forward1.linear2"},
    {"encoder.layers.{}.norm_self_att", "block{}.attention.norm"},
    {"encoder.layers.{}.self_attn.q_proj", "block{}.attention.qkv", Rows::queries},
    {"encoder.layers.{}.self_attn.k_proj", "block{}.attention.qkv", Rows::keys},
    {"encoder.layers.{}.self_attn.v_proj", "block{}.attention.qkv", Rows::values},
    {"encoder.layers.{}.self_attn.relative_k_proj", "block{}.attention.core.positions"},
    {.theirs = "encoder.layers.{}.self_attn.bias_u",
     .ours = "block{}.attention.core.bias_u",
     .axes = Axes::heads_first,
     .alone = true},
    {.theirs = "encoder.layers.{}.self_attn.bias_v",
     .ours = "block{}.attention.core.bias_v",
     .axes = Axes::heads_first,
     .alone = true},
    {"encoder.layers.{}.self_attn.o_proj", "block{}.attention.output"},
    {"encoder.layers.{}.norm_conv", "block{}.convolution.norm"},
    {.theirs = "encoder.layers.{}.conv.pointwise_conv1",
     .ours = "block{}.convolution.pointwise1",
     .axes = Axes::one_last},
    {.theirs = "encoder.layers.{}.conv.depthwise_conv",
     .ours = "block{}.convolution.depthwise",
     .axes = Axes::one_second},
    {"encoder.layers.{}.conv.norm", "block{}.convolution.batch_norm"},
    {.theirs = "encoder.layers.{}.conv.norm.running_mean",
     .ours = "block{}.convolution.batch_norm.running_mean",
     .alone = true},
    {.theirs = "encoder.layers.{}.conv.norm.running_var",
     .ours = "block{}.convolution.batch_norm.running_var",
     .alone = true},
    {.theirs = "encoder.layers.{}.conv.pointwise_conv2",
     .ours = "block{}.convolution.pointwise2",
     .axes = Axes::one_last},
    {"encoder.layers.{}.norm_feed_forward2", "block{}.feed_forward2.norm"},
    {"encoder.layers.{}.feed_forward2.linear1", "block{}.feed_forward2.linear1"},
    {"encoder.layers.{}.feed_forward2.linear2", "block{}.feed_forward2.linear2"},
    {"encoder.layers.{}.norm_out", "block{}.norm"},
};

// The numbers that are missing, 1 and 4, are nonlinearities without tensors.
const std::vector<TensorRule> kSubsampling = {
    {.theirs = "encoder.subsampling.layers.0",
     .ours = "subsampling.conv1",
     .columns = Columns::time_first},
    {.theirs = "encoder.subsampling.linear",
     .ours = "subsampling.linear",
     .columns = Columns::channel_first,
     .channels_of = "subsampling.conv1.bias"},
    {.theirs = "encoder.subsampling.layers.2",
     .ours = "subsampling.conv2",
     .columns = Columns::time_first,
     .axes = Axes::one_second},
    {.theirs = "encoder.subsampling.layers.3",
     .ours = "subsampling.pointwise2",
     .axes = Axes::ones_last},
    {.theirs = "encoder.subsampling.layers.5",
     .ours = "subsampling.conv3",
     .columns = Columns::time_first,
     .axes = Axes::one_second},
    {.theirs = "encoder.subsampling.layers.6",
     .ours = "subsampling.pointwise3",
     .axes = Axes::ones_last},
};

// PyTorch counts the batches that a batch norm has seen. penstock has no use for the count.
const std::vector<KeptRule> kBatchCounts = {
    {.theirs = "encoder.layers.{}.conv.norm.num_batches_tracked"},
};

const std::vector<MappedSetting> kEncoderFeatures = {
    {"sampling_rate", "16000", "features.sample_rate"},
    {"feature_size", "80", "features.mels"},
    {"n_fft", "512", "features.fft"},
    {"win_length", "400", "features.window_ms", Form::milliseconds},
    {"hop_length", "160", "features.hop_ms", Form::milliseconds},
    {"preemphasis", "0.97", "features.preemphasis"},
};

}  // namespace

Architecture fast_conformer(const ClassNames& names) {
  return {
      .name = names.name,
      .model_type = names.model_type,
      .library = names.library,
      .decoder = names.decoder,
      .fixed = {{"model.kind", "conformer"},
                {"model.subsampling", "8"},
                {"model.positions", "relative"},
                {"model.causal_convolution", "false"},
                {"model.convolution_norm", "batch"},
                {"model.left_context", "-1"},
                {"model.right_context", "-1"},
                {.ours = "model.output_dropout", .value = "false", .training_only = true},
                {"features.kind", "log-mel"},
                {"features.window", "hann-symmetric"},
                {"features.normalise", "channel"},
                {"features.last_frame", "false"}},
      .multiples = {{"model.inner", "model.width", 4}, {"model.channels", "model.width", 1}},
      .model = kEncoderSettings,
      .exported_too = {{"encoder_config.attention_dropout", "0.1", "model.dropout"}},
      .wanted = kEncoderWanted,
      .features = kEncoderFeatures,
      .wanted_features = {{"feature_extractor_type", R"("ParakeetFeatureExtractor")",
                           R"("ParakeetFeatureExtractor")"}},
      .tensors = {{"1", kSubsampling}, {"model.layers", kConformerBlock, kBatchCounts}},
      .blank = names.blank,
      .blank_last = true,
      .tokenizer = TokenizerKind::pieces,
  };
}

}  // namespace penstock::runtime
