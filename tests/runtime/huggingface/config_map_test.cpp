#include "runtime/huggingface/config_map.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/flatten.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// A FastConformer as a recipe has it, with features as transformers makes them.
configs::Config fast_conformer(const configs::FlatConfig& changes) {
  configs::FlatConfig keys = {{"model.kind", "conformer"},
                              {"model.width", "12"},
                              {"model.subsampling", "8"},
                              {"features.kind", "log-mel"},
                              {"features.window", "hann-symmetric"},
                              {"features.window_ms", "25"},
                              {"features.normalise", "channel"},
                              {"features.last_frame", "false"}};
  for (const auto& [key, value] : changes) keys[key] = value;
  return configs::unflatten(keys, "a test", layers::model_families());
}

/// Returns the settings of transformers' SeamlessM4TFeatureExtractor.
configs::FeatureConfig seamless_features() {
  configs::FeatureConfig features;
  features.kind = "fbank";
  features.window_ms = 25;
  features.fft = 512;
  features.window = "povey";
  features.preemphasis = 0.97;
  features.normalise = "channel";
  features.stack = 2;
  return features;
}

std::string setting_of(const configs::FlatConfig& changes, const char* name) {
  return model_settings(parakeet_for_ctc(), fast_conformer(changes), 9, 8).at(name);
}

std::string fixed_fault(const configs::FlatConfig& changes,
                        const Architecture& architecture = parakeet_for_ctc()) {
  return test::message_of<ConfigError>([&] { check_fixed(architecture, fast_conformer(changes)); });
}

/// Fails unless transformers' default settings are those of a file of configs/models/.
void expect_defaults(const Architecture& architecture, const FolderSettings& settings,
                     const std::string& model) {
  configs::FlatConfig theirs = configs::flatten(config_of(architecture, settings, {}));
  const std::vector<std::string> base{"model.base=" + model};
  configs::FlatConfig ours =
      configs::flatten(configs::load_config("", layers::model_families(), base));
  for (configs::FlatConfig* keys : {&theirs, &ours}) {
    if (keys->at("model.inner") == "0") keys->at("model.inner") = "4096";  // four times the width
    for (const char* trained :
         {"model.base", "model.dropout", "model.input_dropout", "model.layer_drop",
          "model.output_dropout", "model.classes", "model.mask_time_prob"})
      keys->erase(trained);
  }
  for (const auto& [key, value] : theirs)
    if (key.starts_with("model.") || key.starts_with("decoder.") || key.starts_with("features.")) {
      EXPECT_EQ(ours[key], value) << key;
    }
}

TEST(ConfigMap, ResolvesKeysOfZero) {
  EXPECT_EQ(setting_of({}, "encoder_config.intermediate_size"), "48");
  EXPECT_EQ(setting_of({{"model.inner", "20"}}, "encoder_config.intermediate_size"), "20");
  EXPECT_EQ(setting_of({}, "encoder_config.subsampling_conv_channels"), "12");
  EXPECT_EQ(setting_of({{"model.channels", "5"}}, "encoder_config.subsampling_conv_channels"), "5");
  const auto fft = [](const configs::FlatConfig& changes) {
    return feature_settings(parakeet_for_ctc(), fast_conformer(changes)).at("n_fft");
  };
  EXPECT_EQ(fft({}), "400");
  EXPECT_EQ(fft({{"features.fft", "512"}}), "512");
}

FolderSettings settings_of(Settings config, const char* feature_extractor) {
  return {.folder = "a folder",
          .config = std::move(config),
          .features = {{"feature_extractor_type", feature_extractor}},
          .config_file = "config.json",
          .features_file = "preprocessor_config.json"};
}

// transformers' defaults are the shape of facebook/w2v-bert-2.0.
TEST(ConfigMap, W2vBertsDefaultsAreTheModelFiles) {
  expect_defaults(wav2vec2_bert_for_ctc(), settings_of({}, R"("SeamlessM4TFeatureExtractor")"),
                  "w2v-bert-2");
}

TEST(ConfigMap, ParakeetTransducersDefaultsAreTheModelFiles) {
  const char* features = R"("ParakeetFeatureExtractor")";
  expect_defaults(parakeet_for_tdt(), settings_of({}, features), "parakeet-tdt-0.6b");
  expect_defaults(parakeet_for_rnnt(),
                  settings_of({{"encoder_config.num_hidden_layers", "42"}}, features),
                  "parakeet-rnnt-1.1b");
}

TEST(ConfigMap, CohereAsrsDefaultsAreTheModelFiles) {
  expect_defaults(cohere_asr_for_conditional_generation(),
                  settings_of({}, R"("CohereAsrFeatureExtractor")"), "cohere-transcribe");
}

// Files of Canary name the settings in which its encoder differs from Parakeet's.
TEST(ConfigMap, CanarysSizesAreTheModelFiles) {
  FolderSettings settings = settings_of({{"encoder_config.num_hidden_layers", "32"},
                                         {"encoder_config.num_mel_bins", "128"},
                                         {"encoder_config.scale_input", "false"}},
                                        R"("ParakeetFeatureExtractor")");
  settings.features.emplace("feature_size", "128");
  expect_defaults(canary_for_conditional_generation(), settings, "canary-1b-v2");
}

TEST(ConfigMap, WhispersSizesAreTheModelFiles) {
  Settings sizes{{"d_model", "1280"}, {"num_mel_bins", "128"}, {"vocab_size", "51866"}};
  for (const char* side : {"encoder", "decoder"}) {
    sizes.emplace(fmt::format("{}_attention_heads", side), "20");
    sizes.emplace(fmt::format("{}_layers", side), "32");
    sizes.emplace(fmt::format("{}_ffn_dim", side), "5120");
  }
  FolderSettings settings = settings_of(sizes, R"("WhisperFeatureExtractor")");
  settings.features.emplace("feature_size", "128");
  expect_defaults(whisper_for_conditional_generation(), settings, "whisper-large-v3");
  settings.config["decoder_layers"] = "4";
  expect_defaults(whisper_for_conditional_generation(), settings, "whisper-large-v3-turbo");
}

TEST(ConfigMap, OmniAsrsDefaultsAreTheModelFiles) {
  expect_defaults(omniasr_for_conditional_generation(),
                  settings_of({}, R"("OmniASRFeatureExtractor")"), "omni-llm-300m");
  expect_defaults(omniasr_for_ctc(), settings_of({}, R"("OmniASRFeatureExtractor")"),
                  "omni-ctc-300m");
}

TEST(ConfigMap, Qwen3AsrsDefaultsAreTheModelFile) {
  expect_defaults(qwen3_asr_for_conditional_generation(),
                  settings_of({{"text_config.rope_parameters.rope_theta", "1000000"}},
                              R"("Qwen3ASRFeatureExtractor")"),
                  "qwen3-asr-1.7b");
}

TEST(ConfigMap, SaysDropoutsAsTheRecipeHasThem) {
  const configs::FlatConfig changes = {
      {"model.dropout", "0.2"}, {"model.input_dropout", "0.3"}, {"model.layer_drop", "0.4"}};
  EXPECT_EQ(setting_of(changes, "encoder_config.activation_dropout"), "0.2");
  EXPECT_EQ(setting_of(changes, "encoder_config.attention_dropout"), "0.2");
  EXPECT_EQ(setting_of(changes, "encoder_config.dropout"), "0.3");
  EXPECT_EQ(setting_of(changes, "encoder_config.layerdrop"), "0.4");
  EXPECT_EQ(setting_of(changes, "encoder_config.dropout_positions"), "0.0");
}

TEST(ConfigMap, ChangesWhatDiffersAlone) {
  const configs::Config config = fast_conformer({{"model.dropout", "0.2"}});
  Settings theirs = model_settings(parakeet_for_ctc(), config, 9, 8);
  EXPECT_TRUE(model_changes(parakeet_for_ctc(), config, theirs).empty());
  theirs["encoder_config.attention_dropout"] = "0.7";  // no key is taken from it
  EXPECT_TRUE(model_changes(parakeet_for_ctc(), config, theirs).empty());
  theirs["encoder_config.activation_dropout"] = "0.1";
  theirs.erase("encoder_config.layerdrop");  // 0.1 then
  EXPECT_EQ(model_changes(parakeet_for_ctc(), config, theirs),
            (Settings{{"encoder_config.activation_dropout", "0.2"},
                      {"encoder_config.attention_dropout", "0.2"},
                      {"encoder_config.layerdrop", "0"}}));
  Settings features = feature_settings(parakeet_for_ctc(), config);
  EXPECT_TRUE(feature_changes(parakeet_for_ctc(), config, features).empty());
  features["hop_length"] = "200";
  EXPECT_EQ(feature_changes(parakeet_for_ctc(), config, features),
            (Settings{{"hop_length", "160"}}));
}

// An fbank's 0 stands for the next power of two, and a window of 25 ms has 400 samples.
TEST(ConfigMap, TakesZeroForTheFftOfW2vBert) {
  const auto check = [](int fft) {
    configs::Config config = config_of(wav2vec2_bert_for_ctc(), {}, {});
    config.features.fft = fft;
    check_fixed(wav2vec2_bert_for_ctc(), config);
  };
  EXPECT_NO_THROW(check(0));
  EXPECT_NO_THROW(check(512));
  EXPECT_THROW(check(1024), ConfigError);
}

// preprocessor_config.json of facebook/w2v-bert-2.0.
TEST(ConfigMap, GivesTheFeaturesOfW2vBertBack) {
  const Settings theirs = {{"feature_extractor_type", "\"SeamlessM4TFeatureExtractor\""},
                           {"feature_size", "80"},
                           {"num_mel_bins", "80"},
                           {"padding_side", "\"right\""},
                           {"padding_value", "1"},
                           {"return_attention_mask", "true"},
                           {"sampling_rate", "16000"},
                           {"stride", "2"}};
  const Architecture architecture = wav2vec2_bert_for_ctc();
  FolderSettings settings;
  settings.features = theirs;
  const configs::Config config = config_of(architecture, settings, {});
  EXPECT_EQ(config.features, seamless_features());
  EXPECT_TRUE(feature_changes(architecture, config, theirs).empty());
  Settings written = theirs;
  for (const char* of_padding : {"padding_side", "padding_value", "return_attention_mask"})
    written.erase(of_padding);  // its defaults do
  EXPECT_EQ(feature_settings(architecture, config), written);
}

TEST(ConfigMap, NamesKeysThatAreFixed) {
  const std::string message =
      fixed_fault({{"model.subsampling", "4"}, {"features.window", "hann"}});
  for (const char* part : {"model.subsampling = 8, but the checkpoint has 4",
                           "features.window = hann-symmetric, but the checkpoint has hann"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in " << message;
}

// transformers has one LSTM and one width.
TEST(ConfigMap, NamesTransducersThatTransformersLacks) {
  const configs::FlatConfig tdt = {{"model.decoder", "tdt"}};
  EXPECT_EQ(fixed_fault(tdt, parakeet_for_tdt()), "");
  configs::FlatConfig changes = tdt;
  changes["decoder.prediction"] = "stateless";
  changes["decoder.joint"] = "512";
  const std::string message = fixed_fault(changes, parakeet_for_tdt());
  for (const char* part : {"decoder.prediction = lstm, but the checkpoint has stateless",
                           "decoder.joint = 640, but the checkpoint has 512"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in " << message;
}

TEST(ConfigMap, GeneratesFromTheBlank) {
  const configs::Config config =
      fast_conformer({{"model.decoder", "tdt"}, {"decoder.durations", "[0, 1, 4]"}});
  const Settings rnnt{{"decoder_start_token_id", "8"}, {"pad_token_id", "8"}};
  Settings tdt = rnnt;
  tdt["suppress_tokens"] = "[9,10,11]";
  EXPECT_EQ(generation_settings(parakeet_for_ctc(), config, 9, 8), Settings());
  EXPECT_EQ(generation_settings(parakeet_for_rnnt(), config, 9, 8), rnnt);
  EXPECT_EQ(generation_settings(parakeet_for_tdt(), config, 9, 8), tdt);
}

// Dropout acts in training alone, so an export takes any.
TEST(ConfigMap, ExportsAnyDropout) {
  EXPECT_EQ(fixed_fault({{"model.output_dropout", "true"}}), "");
  EXPECT_EQ(fixed_fault({{"model.output_dropout", "false"}}), "");
}

}  // namespace
}  // namespace penstock::runtime
