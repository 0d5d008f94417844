#include "runtime/huggingface/architecture.h"
#include "runtime/huggingface/attention_class.h"

// WhisperForConditionalGeneration has an encoder of its own, and a decoder that attends to it. Its
// keys have no bias, and its head is the table of the decoder's embedding. The encoder's positions
// are sinusoids that are stored and never trained. Folders may hold others, which an import takes
// as they are.
//
// A text begins with a few tokens, which generate() of transformers chooses by the language and the
// task, and ends with <|endoftext|>. penstock writes no text with label 0, so that is its label:
//
//   <|startoftranscript|> <|en|> <|transcribe|> <|notimestamps|> the text <|endoftext|>
//   the prompt                                  bos              labels   eos, label 0
//
// A model of English alone has no tokens for language and task in its prompt.

namespace penstock::runtime {
namespace {

const std::vector<MappedSetting> kWhisperModel = {
    {.theirs = "d_model", .absent = "384", .ours = "model.width", .also = "decoder.width"},
    {"encoder_attention_heads", "6", "model.heads"},
    {"encoder_layers", "4", "model.layers"},
    {"encoder_ffn_dim", "1536", "model.inner"},
    {"num_mel_bins", "80", "model.features"},
    {"max_source_positions", "1500", "model.max_frames"},
    {"dropout", "0.0", "model.dropout"},
    {"encoder_layerdrop", "0.0", "model.layer_drop"},
    {"decoder_attention_heads", "6", "decoder.heads"},
    {"decoder_layers", "4", "decoder.layers"},
    {"decoder_ffn_dim", "1536", "decoder.inner"},
    {"max_target_positions", "448", "decoder.max_positions"},
    {"tie_word_embeddings", "true", "decoder.tied"},
    {"dropout", "0.0", "decoder.dropout"},
    {"vocab_size", "51865", "model.classes"},
};

const std::vector<RequiredSetting> kWhisperWanted = {
    {"activation_function", R"("gelu")", R"("gelu")"},
    {"scale_embedding", "false", "false"},
};

const std::vector<TensorRule> kWhisperFrontEnd = {
    {"conv1", "frontend.conv1"},
    {"conv2", "frontend.conv2"},
    {"embed_positions", "positions"},
};

const std::vector<TensorRule> kWhisperEncoderLayer = {
    {"layers.{}.self_attn_layer_norm", "block{}.attention.norm"},
    {"layers.{}.self_attn.q_proj", "block{}.attention.qkv", Rows::queries},
    {"layers.{}.self_attn.k_proj", "block{}.attention.qkv", Rows::keys},
    {"layers.{}.self_attn.v_proj", "block{}.attention.qkv", Rows::values},
    {"layers.{}.self_attn.out_proj", "block{}.attention.output"},
    {"layers.{}.final_layer_norm", "block{}.feed_forward.norm"},
    {"layers.{}.fc1", "block{}.feed_forward.linear1"},
    {"layers.{}.fc2", "block{}.feed_forward.linear2"},
};

const std::vector<TensorRule> kWhisperDecoder = {
    {"model.decoder.embed_tokens", "decoder.text", Rows::labels},
    {.theirs = "model.decoder.embed_positions.weight",
     .ours = "decoder.text.positions",
     .alone = true},
    {"model.decoder.layer_norm", "decoder.norm"},
    {.theirs = "proj_out", .ours = "decoder.output", .rows = Rows::labels, .not_always = true},
};

const std::vector<TensorRule> kWhisperDecoderLayer = {
    {"layers.{}.self_attn_layer_norm", "decoder.block{}.attention.norm"},
    {"layers.{}.self_attn.q_proj", "decoder.block{}.attention.qkv", Rows::queries},
    {"layers.{}.self_attn.k_proj", "decoder.block{}.attention.qkv", Rows::keys},
    {"layers.{}.self_attn.v_proj", "decoder.block{}.attention.qkv", Rows::values},
    {"layers.{}.self_attn.out_proj", "decoder.block{}.attention.output"},
    {"layers.{}.encoder_attn_layer_norm", "decoder.block{}.cross_attention.norm"},
    {"layers.{}.encoder_attn.k_proj", "decoder.block{}.cross_attention.kv", Rows::memory_keys},
    {"layers.{}.encoder_attn.v_proj", "decoder.block{}.cross_attention.kv", Rows::memory_values},
    {"layers.{}.encoder_attn.q_proj", "decoder.block{}.cross_attention.q"},
    {"layers.{}.encoder_attn.out_proj", "decoder.block{}.cross_attention.output"},
    {"layers.{}.final_layer_norm", "decoder.block{}.feed_forward.norm"},
    {"layers.{}.fc1", "decoder.block{}.feed_forward.linear1"},
    {"layers.{}.fc2", "decoder.block{}.feed_forward.linear2"},
};

std::vector<RuleGroup> whisper_tensors() {
  constexpr std::string_view kTower = "model.encoder.";
  return {{.repeats = "1", .rules = kWhisperFrontEnd, .prefix = kTower},
          {.repeats = "model.layers", .rules = kWhisperEncoderLayer, .prefix = kTower},
          {.repeats = "1", .rules = {{"layer_norm", "norm"}}, .prefix = kTower},
          {.repeats = "1", .rules = kWhisperDecoder},
          {.repeats = "decoder.layers", .rules = kWhisperDecoderLayer, .prefix = "model.decoder."}};
}

}  // namespace

Architecture whisper_for_conditional_generation() {
  Architecture architecture{
      .name = "WhisperForConditionalGeneration",
      .model_type = "whisper",
      .library = "transformers.models.whisper.modeling_whisper",
      .decoder = "attention",
      .fixed = {{"model.kind", "whisper"},
                {"model.stored_positions", "true"},
                {"decoder.activation", "gelu"},
                {"decoder.positions", "learned"},
                {"decoder.embedding_norm", "false"},
                {"decoder.key_bias", "false"},
                {"decoder.head_bias", "false"},
                {"decoder.project", "false"},
                {"features.kind", "whisper-30s"},
                {"features.sample_rate", "16000"},
                {"features.window", "hann"},
                {"features.window_ms", "25"},
                {"features.hop_ms", "10"},
                {"features.preemphasis", "0"},
                {"features.stack", "1"}},
      .model = kWhisperModel,
      .exported_too = {{"attention_dropout", "0.0", "model.dropout"},
                       {"activation_dropout", "0.0", "model.dropout"}},
      .wanted = kWhisperWanted,
      .features = {{"feature_size", "80", "features.mels"}},
      .wanted_features = {{"feature_extractor_type", R"("WhisperFeatureExtractor")",
                           R"("WhisperFeatureExtractor")"},
                          {"sampling_rate", "16000", "16000"},
                          {"hop_length", "160", "160"},
                          {"n_fft", "400", "400"},
                          {"chunk_length", "30", "30"},
                          {"dither", "0.0", "0.0"}},
      .tensors = whisper_tensors(),
      .blank = "50256",
      .tokenizer = TokenizerKind::byte_pairs,
      .language_prompt = {"<|startoftranscript|>", "<|{}|>", "<|transcribe|>", "<|notimestamps|>"},
      .plain_prompt = {"<|startoftranscript|>", "<|notimestamps|>"},
      .begin_suppressed = "[220,50256]",
  };
  complete_attention_class(architecture);
  return architecture;
}

}  // namespace penstock::runtime
