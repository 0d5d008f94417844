#include "runtime/huggingface/architecture.h"

// Qwen3-ASR, in transformers since 5.24, has an audio tower and a projector before a Qwen3. The
// tower's chunks have 100 frames, because transformers counts 13 frames for each. Dropouts of the
// tower's settings do nothing in transformers, so an import leaves them at 0.
//
// Attention of a Qwen3 has fewer heads of keys and values than of queries, and a norm of each head.
// With tied embeddings there is no lm_head among the weights.
//
// The model was made of a chat model: a user says the frames, and the assistant answers with the
// text. With a language, its name begins the answer.
//
//   <|im_start|>system ⏎ <|im_end|> ⏎ <|im_start|>user ⏎ <|audio_start|>      decoder.prefix
//   <|audio_pad|> … <|audio_pad|>                                             frames
//   <|audio_end|><|im_end|> ⏎ <|im_start|>assistant ⏎                         prompt and bos
//   language English<asr_text>                                                these too
//   the text <|im_end|>                                                       labels and eos
//
// Any row may be of a text but that of <|audio_pad|>, for which frames are put in. So it is taken
// for penstock's label 0, which no text has, and labels of rows before it are one more.

namespace penstock::runtime {
namespace {

const std::vector<MappedSetting> kQwen3AsrModel = {
    {"audio_config.num_mel_bins", "128", "model.features"},
    {"audio_config.d_model", "1024", "model.width"},
    {"audio_config.encoder_attention_heads", "16", "model.heads"},
    {"audio_config.encoder_layers", "24", "model.layers"},
    {"audio_config.encoder_ffn_dim", "4096", "model.inner"},
    {"audio_config.downsample_hidden_size", "480", "model.channels"},
    {"audio_config.n_window_infer", "800", "model.window"},
    {"text_config.hidden_size", "2048", "decoder.width"},
    {"text_config.num_attention_heads", "16", "decoder.heads"},
    {"text_config.num_key_value_heads", "8", "decoder.kv_heads"},
    {"text_config.head_dim", "128", "decoder.head_channels"},
    {"text_config.num_hidden_layers", "28", "decoder.layers"},
    {"text_config.intermediate_size", "6144", "decoder.inner"},
    {"text_config.rms_norm_eps", "1e-6", "decoder.norm_epsilon"},
    {.theirs = "text_config.rope_parameters.rope_theta",
     .absent = "10000.0",
     .ours = "decoder.rotary_base",
     .formerly = "text_config.rope_theta"},
    {"text_config.attention_dropout", "0.0", "decoder.dropout"},
    {"text_config.vocab_size", "151936", "model.classes"},
    {"tie_word_embeddings", "true", "decoder.tied"},
};

const std::vector<RequiredSetting> kQwen3AsrWanted = {
    {.theirs = "thinker_config",
     .absent = "null",
     .value = "null",
     .remedy = "This folder is of the package qwen-asr: take the model that was made for "
               "transformers, whose name ends in -hf"},
    {"audio_config.model_type", R"("qwen3_asr_encoder")", R"("qwen3_asr_encoder")"},
    {"audio_config.activation_function", R"("gelu")", R"("gelu")"},
    {"audio_config.n_window", "50", "50"},
    {"audio_config.max_position_embeddings", "13", "13"},
    {"text_config.model_type", R"("qwen3")", R"("qwen3")"},
    {"text_config.hidden_act", R"("silu")", R"("silu")"},
    {"text_config.attention_bias", "false", "false"},
    {"text_config.use_sliding_window", "false", "false"},
    {"text_config.rope_parameters.rope_type", R"("default")", R"("default")"},
    {"text_config.rope_scaling", "null", "null"},
};

const std::vector<MappedSetting> kQwen3AsrFeatures = {{"feature_size", "128", "features.mels"}};

const std::vector<RequiredSetting> kQwen3AsrWantedFeatures = {
    {"feature_extractor_type", R"("Qwen3ASRFeatureExtractor")", R"("Qwen3ASRFeatureExtractor")"},
    {"sampling_rate", "16000", "16000"},
    {"n_fft", "400", "400"},
    {"hop_length", "160", "160"},
    {"dither", "0.0", "0.0"},
    {"padding_value", "0.0", "0.0"},
    {"n_window", "50", "50"},
    {"min_length", "8000", "8000"},
};

const std::vector<TensorRule> kQwen3AsrFrontEnd = {
    {"conv2d1", "frontend.conv1"},
    {"conv2d2", "frontend.conv2"},
    {"conv2d3", "frontend.conv3"},
    {.theirs = "conv_out",
     .ours = "frontend.linear",
     .columns = Columns::channel_first,
     .channels_of = "frontend.conv3.bias"},
};

const std::vector<TensorRule> kQwen3AsrEncoderLayer = {
    {"layers.{}.self_attn_layer_norm", "block{}.attention.norm"},
    {"layers.{}.self_attn.q_proj", "block{}.attention.qkv", Rows::queries},
    {"layers.{}.self_attn.k_proj", "block{}.attention.qkv", Rows::keys},
    {"layers.{}.self_attn.v_proj", "block{}.attention.qkv", Rows::values},
    {"layers.{}.self_attn.out_proj", "block{}.attention.output"},
    {"layers.{}.final_layer_norm", "block{}.feed_forward.norm"},
    {"layers.{}.fc1", "block{}.feed_forward.linear1"},
    {"layers.{}.fc2", "block{}.feed_forward.linear2"},
};

const std::vector<TensorRule> kQwen3AsrAfterLayers = {
    {"audio_tower.ln_post", "norm"},
    {"multi_modal_projector.linear_1", "projector.linear"},
    {"multi_modal_projector.linear_2", "output"},
    {"language_model.embed_tokens", "decoder.text", Rows::labels},
    {"language_model.norm", "decoder.norm"},
};

const std::vector<TensorRule> kQwen3AsrTextLayer = {
    {"layers.{}.input_layernorm", "decoder.block{}.attention.norm"},
    {"layers.{}.self_attn.q_proj", "decoder.block{}.attention.qkv", Rows::shared_queries},
    {"layers.{}.self_attn.k_proj", "decoder.block{}.attention.qkv", Rows::shared_keys},
    {"layers.{}.self_attn.v_proj", "decoder.block{}.attention.qkv", Rows::shared_values},
    {"layers.{}.self_attn.q_norm", "decoder.block{}.attention.qk_norm.q"},
    {"layers.{}.self_attn.k_norm", "decoder.block{}.attention.qk_norm.k"},
    {"layers.{}.self_attn.o_proj", "decoder.block{}.attention.output"},
    {"layers.{}.post_attention_layernorm", "decoder.block{}.feed_forward.norm"},
    {"layers.{}.mlp.gate_proj", "decoder.block{}.feed_forward.linear1", Rows::gates},
    {"layers.{}.mlp.up_proj", "decoder.block{}.feed_forward.linear1", Rows::gated},
    {"layers.{}.mlp.down_proj", "decoder.block{}.feed_forward.linear2"},
};

const std::vector<TensorRule> kQwen3AsrHead = {
    {.theirs = "lm_head", .ours = "decoder.output", .rows = Rows::labels, .not_always = true}};

/// The languages of Qwen3ASRProcessor.
const std::vector<PromptLanguage> kQwen3AsrLanguages = {
    {"ar", "Arabic"},   {"yue", "Cantonese"}, {"zh", "Chinese"},    {"cs", "Czech"},
    {"da", "Danish"},   {"nl", "Dutch"},      {"en", "English"},    {"fil", "Filipino"},
    {"fi", "Finnish"},  {"fr", "French"},     {"de", "German"},     {"el", "Greek"},
    {"hi", "Hindi"},    {"hu", "Hungarian"},  {"id", "Indonesian"}, {"it", "Italian"},
    {"ja", "Japanese"}, {"ko", "Korean"},     {"mk", "Macedonian"}, {"ms", "Malay"},
    {"fa", "Persian"},  {"pl", "Polish"},     {"pt", "Portuguese"}, {"ro", "Romanian"},
    {"ru", "Russian"},  {"es", "Spanish"},    {"sv", "Swedish"},    {"th", "Thai"},
    {"tr", "Turkish"},  {"vi", "Vietnamese"}};

ChatPrompt qwen3_asr_chat() {
  return {.before = "<|im_start|>system\n<|im_end|>\n<|im_start|>user\n<|audio_start|>",
          .after = "<|audio_end|><|im_end|>\n<|im_start|>assistant\n",
          .language = "language {}<asr_text>",
          .end = "<|im_end|>",
          .tokens = {"<|im_start|>", "<|im_end|>", "<|audio_start|>", "<|audio_end|>"},
          .language_tokens = {"<asr_text>"},
          .languages = kQwen3AsrLanguages};
}

}  // namespace

Architecture qwen3_asr_for_conditional_generation() {
  return {
      .name = "Qwen3ASRForConditionalGeneration",
      .model_type = "qwen3_asr",
      .library = "transformers.models.qwen3_asr.modeling_qwen3_asr",
      .decoder = "lm",
      .fixed = {{"model.kind", "qwen3_asr"},
                {"model.chunk", "100"},
                {"model.dropout", "0", true},
                {"model.layer_drop", "0", true},
                {"decoder.qk_norm", "true"},
                {"features.kind", "whisper-0.5s"},
                {"features.sample_rate", "16000"},
                {"features.window", "hann"},
                {"features.window_ms", "25"},
                {"features.hop_ms", "10"},
                {"features.preemphasis", "0"},
                {"features.stack", "1"}},
      .multiples = {{"decoder.kv_heads", "decoder.heads"},
                    {.ours = "decoder.head_channels",
                     .of = "decoder.width",
                     .per = "decoder.heads"}},
      .model = kQwen3AsrModel,
      .wanted = kQwen3AsrWanted,
      .derived = {{.theirs = "audio_config.output_dim",
                   .of = "decoder.width",
                   .remedy = "The projector makes frames of the language model's width"}},
      .features = kQwen3AsrFeatures,
      .wanted_features = kQwen3AsrWantedFeatures,
      .tensors = {{.repeats = "1", .rules = kQwen3AsrFrontEnd, .prefix = "model.audio_tower."},
                  {.repeats = "model.layers",
                   .rules = kQwen3AsrEncoderLayer,
                   .prefix = "model.audio_tower."},
                  {.repeats = "1", .rules = kQwen3AsrAfterLayers, .prefix = "model."},
                  {.repeats = "decoder.layers",
                   .rules = kQwen3AsrTextLayer,
                   .prefix = "model.language_model."},
                  {.repeats = "1", .rules = kQwen3AsrHead}},
      .rows_setting = "text_config.vocab_size",
      .rows = "151936",
      .unnamed_rows = true,
      .free_row_setting = "audio_token_id",
      .free_row_is_blank = true,
      .blank_setting = "",
      .blank = "151676",
      .blank_token = "<|endoftext|>",
      .tokenizer = TokenizerKind::byte_pairs,
      .chat = qwen3_asr_chat(),
  };
}

}  // namespace penstock::runtime
