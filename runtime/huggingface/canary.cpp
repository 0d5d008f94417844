#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/huggingface/attention_class.h"
#include "runtime/huggingface/fast_conformer.h"

// CanaryForConditionalGeneration and CohereAsrForConditionalGeneration have Parakeet's encoder and
// a decoder that attends to it, with a norm of its embeddings and ReLU.
//
//                   Canary                            Cohere's
//   head            the embedding's table             its own, or that table
//   positions       sinusoids, computed               learned
//   encoder         as wide as the decoder            projected to its width
//   settings        of decoder_config                 of the whole
//
// Both begin a text with the tokens of one prompt, which Cohere's precedes by a space.

namespace penstock::runtime {
namespace {

const std::vector<MappedSetting> kCanaryDecoder = {
    {"decoder_config.hidden_size", "1024", "decoder.width"},
    {"decoder_config.num_attention_heads", "8", "decoder.heads"},
    {"decoder_config.num_hidden_layers", "8", "decoder.layers"},
    {"decoder_config.intermediate_size", "4096", "decoder.inner"},
    {.theirs = "decoder_config.hidden_act",
     .absent = R"("relu")",
     .ours = "decoder.activation",
     .form = Form::text,
     .accepted = {"relu", "gelu", "silu"}},
    {"decoder_config.max_position_embeddings", "1024", "decoder.max_positions"},
    {"decoder_config.attention_dropout", "0.0", "decoder.dropout"},
    {"tie_word_embeddings", "true", "decoder.tied"},
    {"vocab_size", "16384", "model.classes"},
};

const std::vector<MappedSetting> kCohereAsrDecoder = {
    {"hidden_size", "1024", "decoder.width"},
    {"num_attention_heads", "8", "decoder.heads"},
    {"num_hidden_layers", "8", "decoder.layers"},
    {"intermediate_size", "4096", "decoder.inner"},
    {.theirs = "hidden_act",
     .absent = R"("relu")",
     .ours = "decoder.activation",
     .form = Form::text,
     .accepted = {"relu", "gelu", "silu"}},
    {"max_position_embeddings", "1024", "decoder.max_positions"},
    {"attention_dropout", "0.0", "decoder.dropout"},
    {"tie_word_embeddings", "false", "decoder.tied"},
    {"vocab_size", "16384", "model.classes"},
};

constexpr std::string_view kDecoderPrefix = "model.decoder.";

/// Defaults of CohereAsrConfig, which replace those of the encoder's own class.
constexpr std::pair<std::string_view, std::string_view> kCohereAsrEncoder[] = {
    {"encoder_config.hidden_size", "1280"},       {"encoder_config.num_hidden_layers", "48"},
    {"encoder_config.intermediate_size", "5120"}, {"encoder_config.num_mel_bins", "128"},
    {"encoder_config.scale_input", "false"},      {"encoder_config.activation_dropout", "0.0"},
    {"encoder_config.attention_dropout", "0.0"},  {"encoder_config.dropout", "0.0"},
    {"encoder_config.layerdrop", "0.0"},
};

/// Names in files of Cohere's, which transformers renames when it reads and writes them.
constexpr std::pair<std::string_view, std::string_view> kCohereAsrNames[] = {
    {"encoder.subsampling.layers.0", "encoder.pre_encode.conv.0"},
    {"encoder.subsampling.layers.2", "encoder.pre_encode.conv.2"},
    {"encoder.subsampling.layers.3", "encoder.pre_encode.conv.3"},
    {"encoder.subsampling.layers.5", "encoder.pre_encode.conv.5"},
    {"encoder.subsampling.layers.6", "encoder.pre_encode.conv.6"},
    {"encoder.subsampling.linear", "encoder.pre_encode.out"},
    {"encoder.layers.{}.self_attn.q_proj", "encoder.layers.{}.self_attn.linear_q"},
    {"encoder.layers.{}.self_attn.k_proj", "encoder.layers.{}.self_attn.linear_k"},
    {"encoder.layers.{}.self_attn.v_proj", "encoder.layers.{}.self_attn.linear_v"},
    {"encoder.layers.{}.self_attn.o_proj", "encoder.layers.{}.self_attn.linear_out"},
    {"encoder.layers.{}.self_attn.relative_k_proj", "encoder.layers.{}.self_attn.linear_pos"},
    {"encoder.layers.{}.self_attn.bias_u", "encoder.layers.{}.self_attn.pos_bias_u"},
    {"encoder.layers.{}.self_attn.bias_v", "encoder.layers.{}.self_attn.pos_bias_v"},
    {"encoder.layers.{}.conv.norm", "encoder.layers.{}.conv.batch_norm"},
    {"encoder.layers.{}.conv.norm.running_mean", "encoder.layers.{}.conv.batch_norm.running_mean"},
    {"encoder.layers.{}.conv.norm.running_var", "encoder.layers.{}.conv.batch_norm.running_var"},
    {"encoder.layers.{}.conv.norm.num_batches_tracked",
     "encoder.layers.{}.conv.batch_norm.num_batches_tracked"},
    {"model.decoder.embed_tokens", "model.transf_decoder._embedding.token_embedding"},
    {"model.decoder.embedding_layernorm", "model.transf_decoder._embedding.layer_norm"},
    {"model.decoder.norm", "model.transf_decoder._decoder.final_layer_norm"},
    {"proj_out", "log_softmax.mlp.layer0"},
    {"layers.{}.input_layernorm", "layers.{}.layer_norm_1"},
    {"layers.{}.self_attn.q_proj", "layers.{}.first_sub_layer.query_net"},
    {"layers.{}.self_attn.k_proj", "layers.{}.first_sub_layer.key_net"},
    {"layers.{}.self_attn.v_proj", "layers.{}.first_sub_layer.value_net"},
    {"layers.{}.self_attn.o_proj", "layers.{}.first_sub_layer.out_projection"},
    {"layers.{}.post_attention_layernorm", "layers.{}.layer_norm_2"},
    {"layers.{}.encoder_attn.k_proj", "layers.{}.second_sub_layer.key_net"},
    {"layers.{}.encoder_attn.v_proj", "layers.{}.second_sub_layer.value_net"},
    {"layers.{}.encoder_attn.q_proj", "layers.{}.second_sub_layer.query_net"},
    {"layers.{}.encoder_attn.o_proj", "layers.{}.second_sub_layer.out_projection"},
    {"layers.{}.final_layernorm", "layers.{}.layer_norm_3"},
    {"layers.{}.mlp.fc1", "layers.{}.third_sub_layer.dense_in"},
    {"layers.{}.mlp.fc2", "layers.{}.third_sub_layer.dense_out"},
};

/// Gives the tensors the names that they have in files of Cohere's.
void rename_as_cohere_asr(std::vector<RuleGroup>& groups) {
  const auto rename = [](std::string_view& theirs) {
    const auto* const found =
        std::ranges::find(kCohereAsrNames, theirs, [](const auto& pair) { return pair.first; });
    if (found != std::end(kCohereAsrNames)) theirs = found->second;
  };
  for (RuleGroup& group : groups) {
    for (TensorRule& rule : group.rules) rename(rule.theirs);
    for (KeptRule& rule : group.kept) rename(rule.theirs);
    if (group.prefix == kDecoderPrefix) group.prefix = "model.transf_decoder._decoder.";
  }
}

const std::vector<TensorRule> kDecoderEnds = {
    {"model.decoder.embed_tokens", "decoder.text", Rows::labels},
    {"model.decoder.embedding_layernorm", "decoder.text_norm"},
    {"model.decoder.norm", "decoder.norm"},
    {.theirs = "proj_out", .ours = "decoder.output", .rows = Rows::labels, .not_always = true},
};

const std::vector<TensorRule> kCohereAsrProjection = {
    {"model.encoder_decoder_proj", "output"},
    {.theirs = "model.transf_decoder._embedding.position_embedding.pos_enc",
     .ours = "decoder.text.positions",
     .alone = true},
};

const std::vector<TensorRule> kDecoderLayer = {
    {"layers.{}.input_layernorm", "decoder.block{}.attention.norm"},
    {"layers.{}.self_attn.q_proj", "decoder.block{}.attention.qkv", Rows::queries},
    {"layers.{}.self_attn.k_proj", "decoder.block{}.attention.qkv", Rows::keys},
    {"layers.{}.self_attn.v_proj", "decoder.block{}.attention.qkv", Rows::values},
    {"layers.{}.self_attn.o_proj", "decoder.block{}.attention.output"},
    {"layers.{}.post_attention_layernorm", "decoder.block{}.cross_attention.norm"},
    {"layers.{}.encoder_attn.k_proj", "decoder.block{}.cross_attention.kv", Rows::memory_keys},
    {"layers.{}.encoder_attn.v_proj", "decoder.block{}.cross_attention.kv", Rows::memory_values},
    {"layers.{}.encoder_attn.q_proj", "decoder.block{}.cross_attention.q"},
    {"layers.{}.encoder_attn.o_proj", "decoder.block{}.cross_attention.output"},
    {"layers.{}.final_layernorm", "decoder.block{}.feed_forward.norm"},
    {"layers.{}.mlp.fc1", "decoder.block{}.feed_forward.linear1"},
    {"layers.{}.mlp.fc2", "decoder.block{}.feed_forward.linear2"},
};

/// Returns what both classes have in common.
Architecture fast_conformer_with_decoder(const ClassNames& names) {
  Architecture architecture = fast_conformer(names);
  for (RuleGroup& group : architecture.tensors) group.prefix = "model.";
  architecture.tensors.push_back({"1", kDecoderEnds});
  architecture.tensors.push_back(
      {.repeats = "decoder.layers", .rules = kDecoderLayer, .prefix = kDecoderPrefix});
  for (const std::string_view key :
       {"decoder.embedding_norm", "decoder.key_bias", "decoder.head_bias"})
    architecture.fixed.push_back({key, "true"});
  architecture.blank_last = false;
  architecture.language_prompt = {"<|startofcontext|>",
                                  "<|startoftranscript|>",
                                  "<|emo:undefined|>",
                                  "<|{}|>",
                                  "<|{}|>",
                                  "<|pnc|>",
                                  "<|noitn|>",
                                  "<|notimestamp|>",
                                  "<|nodiarize|>"};
  complete_attention_class(architecture);
  architecture.unread = {"proj_out.weight", "preprocessor.featurizer."};
  return architecture;
}

constexpr std::string_view kSharedHeads = "Heads that share keys and values are not supported";

}  // namespace

Architecture canary_for_conditional_generation() {
  Architecture architecture =
      fast_conformer_with_decoder({"CanaryForConditionalGeneration", "canary",
                                   "transformers.models.canary.modeling_canary", "attention", "3"});
  architecture.fixed.push_back({"decoder.positions", "canary"});
  architecture.fixed.push_back({"decoder.project", "false"});
  std::ranges::copy(kCanaryDecoder, std::back_inserter(architecture.model));
  architecture.wanted.push_back(
      {"decoder_config.model_type", R"("canary_decoder")", R"("canary_decoder")"});
  architecture.wanted.push_back({"decoder_config.attention_bias", "true", "true"});
  architecture.derived = {
      {.theirs = "decoder_config.num_key_value_heads",
       .of = "decoder.heads",
       .remedy = kSharedHeads},
      {.theirs = "decoder_config.head_dim", .of = "decoder.width", .per = "decoder.heads"},
      {.theirs = "decoder_config.vocab_size", .of = "model.classes"}};
  architecture.rows = "16384";
  architecture.rows_too = "decoder_config.vocab_size";
  return architecture;
}

Architecture cohere_asr_for_conditional_generation() {
  Architecture architecture = fast_conformer_with_decoder(
      {"CohereAsrForConditionalGeneration", "cohere_asr",
       "transformers.models.cohere_asr.modeling_cohere_asr", "attention", "3"});
  architecture.fixed.push_back({"decoder.positions", "learned"});
  architecture.fixed.push_back({"decoder.project", "true"});
  for (std::vector<MappedSetting>* settings : {&architecture.model, &architecture.exported_too})
    for (MappedSetting& one : *settings)
      for (const auto& [theirs, absent] : kCohereAsrEncoder)
        if (one.theirs == theirs) one.absent = absent;
  std::ranges::copy(kCohereAsrDecoder, std::back_inserter(architecture.model));
  architecture.wanted.push_back({"attention_bias", "true", "true"});
  architecture.derived = {
      {.theirs = "num_key_value_heads", .of = "decoder.heads", .remedy = kSharedHeads},
      {.theirs = "head_dim", .of = "decoder.width", .per = "decoder.heads"}};
  architecture.wanted_features = {{"feature_extractor_type", R"("CohereAsrFeatureExtractor")",
                                   R"("CohereAsrFeatureExtractor")"}};
  std::ranges::find(architecture.features, "feature_size", &MappedSetting::theirs)->absent = "128";
  rename_as_cohere_asr(architecture.tensors);
  architecture.tensors.push_back({"1", kCohereAsrProjection});
  architecture.unread = {"log_softmax.mlp.layer0.weight", "preprocessor.featurizer."};
  architecture.rows = "16384";
  architecture.language_prompt.insert(architecture.language_prompt.begin(), "▁");
  return architecture;
}

}  // namespace penstock::runtime
