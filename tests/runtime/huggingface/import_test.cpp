#include "runtime/huggingface/import.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>

#include "base/error.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "tests/support/layers/golden.h"
#include "tests/support/runtime/evaluated_model.h"
#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/runtime/read_tensor.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

const std::string kWav2Vec2 = "wav2vec2_for_ctc", kParakeet = "parakeet_for_ctc";
const std::string kHubert = "hubert_for_ctc", kOmniAsr = "omniasr_for_ctc", kMms = "mms_for_ctc";
const std::string kW2vBert = "wav2vec2_bert_for_ctc";

class Import : public testing::Test {
 protected:
  Checkpoint import(const std::string& name, const ImportChoices& choices = {}) {
    import_model(test::source("tests/golden/" + name), checkpoint_, choices);
    return open_checkpoint(checkpoint_);
  }

  /// Fails unless a golden model has its logits; penstock's label 0 is row `blank` of the head.
  void expect_logits(const std::string& name, std::int64_t blank,
                     const std::string& language = "") {
    expect_logits(import(name, {.language = language}),
                  name + (language.empty() ? "/logits" : "/logits_" + language), blank);
  }

  struct Base {
    std::string name;
    std::int64_t blank = 0;
  };
  /// Fails unless a golden adapter has its logits with its base.
  void expect_logits_of_adapter(const std::string& name, const Base& base, bool merge) {
    std::filesystem::remove_all(checkpoint_);
    expect_logits(
        import(base.name, {.adapter = test::source("tests/golden/" + name), .merge = merge}),
        name + "/logits", base.blank);
  }

  static void expect_logits(const Checkpoint& checkpoint, const std::string& file,
                            std::int64_t blank) {
    const test::Golden golden(file);
    const std::int64_t labels = golden.shape("logits")[1];
    test::EvaluatedModel evaluation(checkpoint, golden, static_cast<int>(labels));
    EXPECT_EQ(evaluation.frames().lengths, golden.integers("output_lengths"));
    const std::vector<double>& expected = golden["logits"];
    double error = 0, largest = 0;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(expected.size()); ++i) {
      const std::int64_t row = i % labels;
      const std::int64_t label = row == blank ? 0 : row < blank ? row + 1 : row;
      const double logit = evaluation.output()[i - row + label];
      const double wanted = expected[static_cast<std::size_t>(i)];
      error = std::max(error, std::abs(logit - wanted));
      largest = std::max(largest, std::abs(wanted));
    }
    EXPECT_LE(error, 1e-4 * largest);
  }

  /// A copy of a golden folder, to be spoilt.
  std::filesystem::path spoilt(const std::string& name) {
    auto folder = output_.path() / "spoilt";
    std::filesystem::remove_all(folder);
    std::filesystem::copy(test::source("tests/golden/" + name), folder);
    return folder;
  }

  /// Imports the copy and returns the error, if any. A failed import must leave nothing in place.
  std::string fault() {
    std::string message =
        test::message_of<Error>([&] { import_model(output_.path() / "spoilt", checkpoint_); });
    EXPECT_EQ(std::filesystem::exists(checkpoint_), message.empty());
    EXPECT_FALSE(std::filesystem::exists(checkpoint_.string() + ".partial"));
    return message;
  }
  void expect_fault(const std::string& part) {
    const std::string message = fault();
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  }

  test::TemporaryFolder output_;
  std::filesystem::path checkpoint_ = output_.path() / "checkpoint";
};

TEST_F(Import, ComputesTheLogitsOfWav2Vec2) { expect_logits(kWav2Vec2, 2); }

TEST_F(Import, ComputesTheLogitsOfParakeet) { expect_logits(kParakeet, 7); }

TEST_F(Import, ComputesTheLogitsOfHubert) { expect_logits(kHubert, 0); }

TEST_F(Import, ComputesTheLogitsOfOmniAsr) { expect_logits(kOmniAsr, 0); }

TEST_F(Import, ComputesTheLogitsOfW2vBert) { expect_logits(kW2vBert, 0); }

TEST_F(Import, ComputesTheLogitsOfMms) { expect_logits(kMms, 0); }

// The logits are those of adapter.rus.safetensors, whose head has other labels.
TEST_F(Import, ComputesTheLogitsOfAChosenLanguage) { expect_logits(kMms, 0, "rus"); }

// The logits are PEFT's, of the base with the adapter.
TEST_F(Import, ComputesTheLogitsOfAnAdapter) {
  for (const bool merge : {false, true}) {
    expect_logits_of_adapter("wav2vec2_adapter", {kWav2Vec2, 2}, merge);
    expect_logits_of_adapter("parakeet_adapter", {kParakeet, 7}, merge);
  }
}

TEST_F(Import, TakesNoAdapterWithoutAHead) {
  const std::string message = test::message_of<ConfigError>([&] {
    import("wav2vec2_for_pretraining", {.text = configs::TextConfig{},
                                        .adapter = test::source("tests/golden/wav2vec2_adapter")});
  });
  EXPECT_NE(message.find("has no head, and so no adapter"), std::string::npos) << message;
}

// OmniASRForCTC has pieces as it was published, but its processor takes any tokenizer.
TEST_F(Import, TakesCharactersWhereOthersHavePieces) {
  const auto folder = spoilt(kOmniAsr);
  std::filesystem::remove(folder / "tokenizer.json");
  std::ofstream(folder / "vocab.json")
      << R"({"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, "|": 4, "a": 5, "b": 6, "c": 7, "'": 8,)"
         R"( "\u00e9": 9})";
  EXPECT_EQ(fault(), "");
  const std::string alphabet = open_checkpoint(checkpoint_).state().config.at("text.alphabet");
  EXPECT_NE(alphabet.find(" abc'é"), std::string::npos) << alphabet;
}

TEST_F(Import, TakesW2vBertsOtherSettings) {
  const auto replaced = [&](const std::string& from, const std::string& to) {
    test::change_text(spoilt(kW2vBert) / "config.json", from, to);
    std::filesystem::remove_all(checkpoint_);
    return fault();
  };
  EXPECT_EQ(replaced(R"("hidden_act": "swish")", R"("hidden_act": "silu")"), "");
  EXPECT_NE(replaced(R"("add_adapter": false)", R"("add_adapter": true)")
                .find("add_adapter is true, but penstock's models have false. It has convolutions"),
            std::string::npos);
  // Its tensors have the old number of rows, and 0 itself is no fault.
  const std::string none =
      replaced(R"("right_max_position_embeddings": 2)", R"("right_max_position_embeddings": 0)");
  EXPECT_EQ(none.find("right_max"), std::string::npos) << none;
  EXPECT_NE(none.find("distance_embedding"), std::string::npos) << none;
}

TEST_F(Import, NamesBothTokenizersWhereThereIsNone) {
  std::filesystem::remove(spoilt(kWav2Vec2) / "vocab.json");
  expect_fault("spoilt: holds neither vocab.json nor tokenizer.json: save the tokenizer");
}

TEST_F(Import, TakesTheLettersOfTheLanguage) {
  const auto alphabet = [&](const std::string& language) {
    std::filesystem::remove_all(checkpoint_);
    return import(kMms, {.language = language}).state().config.at("text.alphabet");
  };
  EXPECT_NE(alphabet("").find("ab'"), std::string::npos);
  EXPECT_NE(alphabet("rus").find("абвгд"), std::string::npos);
  EXPECT_EQ(open_checkpoint(checkpoint_).state().config.at("model.adapter"), "4");
}

TEST_F(Import, SaysThatALanguageHasNoFile) {
  const auto message = [&](const char* language) {
    return test::message_of<CheckpointError>([&] { import(kMms, {.language = language}); });
  };
  EXPECT_NE(message("deu").find("holds no adapter.deu.safetensors: download it"),
            std::string::npos);
  EXPECT_NE(message("../eng").find("holds no adapter.../eng.safetensors"), std::string::npos);
}

TEST_F(Import, RefusesALanguageWithTensorsOfAnotherModel) {
  const auto folder = spoilt(kMms);
  test::change_tensors(folder / "adapter.rus.safetensors", [](test::FileTensors& tensors) {
    tensors["lm_head.bonus"] = tensors.at("lm_head.bias");
  });
  EXPECT_NE(test::message_of<CheckpointError>([&] {
              import_model(folder, checkpoint_, {.language = "rus"});
            }).find("holds 'lm_head.bonus', which the model's weights have not"),
            std::string::npos);
}

// The blank is <s>, and <pad> is a label.
TEST_F(Import, TakesTheSettingsOfOmniAsr) {
  const Checkpoint checkpoint = import(kOmniAsr);
  const auto& config = checkpoint.state().config;
  EXPECT_EQ(config.at("model.kind"), "wav2vec2");
  EXPECT_EQ(config.at("model.position_weight_norm"), "false");
  EXPECT_EQ(config.at("features.epsilon"), "1e-05");
  EXPECT_EQ(config.at("text.kind"), "sentencepiece");
  EXPECT_EQ(checkpoint.tensor("output.bias").shape, (layers::Shape{10}));
}

TEST_F(Import, TakesTheSettingsOfHubert) {
  const Checkpoint checkpoint = import(kHubert);
  const auto& config = checkpoint.state().config;
  EXPECT_EQ(config.at("model.kind"), "wav2vec2");
  EXPECT_EQ(config.at("model.frontend_norm"), "group");
  EXPECT_EQ(config.at("model.frontend_bias"), "false");
  EXPECT_EQ(config.at("model.projection_norm"), "true");
  EXPECT_EQ(config.at("model.norm_first"), "false");
  EXPECT_TRUE(checkpoint.contains("mask.embedding"));
}

TEST_F(Import, RefusesOtherHubertsByName) {
  test::change_text(spoilt(kHubert) / "config.json", "\"conv_pos_batch_norm\": false",
                    "\"conv_pos_batch_norm\": true");
  expect_fault("conv_pos_batch_norm is true, but penstock's models have false");
}

TEST_F(Import, TakesTheSettingsOfParakeet) {
  const Checkpoint checkpoint = import(kParakeet);
  const auto& config = checkpoint.state().config;
  EXPECT_EQ(config.at("model.kind"), "conformer");
  EXPECT_EQ(config.at("model.inner"), "20");
  EXPECT_EQ(config.at("model.channels"), "4");
  EXPECT_EQ(config.at("model.features"), "16");
  EXPECT_EQ(config.at("features.window_ms"), "25");
  EXPECT_EQ(config.at("features.preemphasis"), "0.97");
  EXPECT_EQ(config.at("features.normalise"), "channel");
  EXPECT_EQ(config.at("model.dropout"), "0.1");
  EXPECT_EQ(config.at("model.input_dropout"), "0.1");
  EXPECT_EQ(config.at("model.layer_drop"), "0.1");
  EXPECT_EQ(config.at("text.kind"), "sentencepiece");
  EXPECT_TRUE(checkpoint.contains("huggingface/encoder.layers.1.conv.norm.num_batches_tracked"));
}

TEST_F(Import, RefusesOtherParakeetsByName) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"\"subsampling_factor\": 8", "\"subsampling_factor\": 4",
       "encoder_config.subsampling_factor is 4, but penstock's models have 8"},
      {"\"conv_kernel_size\": 5", "\"conv_kernel_size\": 4", "conv_kernel_size: a kernel of 4"},
      {"\"num_mel_bins\": 16", "\"num_mel_bins\": 24", "feature_size is 16, but the model"},
      {"parakeet_ctc", "parakeet_tdt",
       "architectures is [\"ParakeetForCTC\"], but penstock reads ParakeetForTDT"},
  };
  for (const auto& [from, to, said] : cases) {
    test::change_text(spoilt(kParakeet) / "config.json", from, to);
    expect_fault(said);
  }
  std::filesystem::remove(spoilt(kParakeet) / "tokenizer.json");
  expect_fault("tokenizer.json");
}

TEST_F(Import, TakesTheFeaturesOfW2vBert) {
  const Checkpoint checkpoint = import(kW2vBert);
  const auto& config = checkpoint.state().config;
  EXPECT_EQ(config.at("features.kind"), "fbank");
  EXPECT_EQ(config.at("features.mels"), "8");
  EXPECT_EQ(config.at("features.stack"), "2");
  EXPECT_EQ(config.at("features.window"), "povey");
  EXPECT_EQ(config.at("features.normalise"), "channel");
}

TEST_F(Import, RefusesOtherFeaturesOfW2vBertByName) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"\"stride\": 2", "\"stride\": 3", "stride is 3, but penstock's models have 2"},
      {"\"sampling_rate\": 16000", "\"sampling_rate\": 8000",
       "sampling_rate is 8000, but penstock's models have 16000"},
      {"\"num_mel_bins\": 8", "\"num_mel_bins\": 6",
       "num_mel_bins is 6, but the model of config.json takes 16 mel channels of 2 stacked"},
  };
  for (const auto& [from, to, said] : cases) {
    test::change_text(spoilt(kW2vBert) / "processor_config.json", from, to);
    expect_fault(said);
  }
}

// Their logits are right all the same.
TEST_F(Import, SaysWhyTokensAreNoPieces) {
  test::change_text(spoilt(kParakeet) / "tokenizer.json", "\"pre_tokenizer\": null",
                    "\"pre_tokenizer\": {\"type\": \"Whitespace\"}");
  const ImportReport report = import_model(output_.path() / "spoilt", checkpoint_);
  EXPECT_EQ(report.no_pieces, "its pre_tokenizer is {\"type\":\"Whitespace\"}");
  EXPECT_EQ(report.without_letter, (std::vector<std::string>{"<unk>", "▁a", "ab"}));
  EXPECT_EQ(open_checkpoint(checkpoint_).state().config.at("text.kind"), "alphabet");
}

TEST_F(Import, TakesTheSettingsOfWav2Vec2) {
  const Checkpoint checkpoint = import(kWav2Vec2);
  const auto& config = checkpoint.state().config;
  EXPECT_EQ(config.at("model.kind"), "wav2vec2");
  EXPECT_EQ(config.at("model.width"), "12");
  EXPECT_EQ(config.at("model.channels"), "5");
  EXPECT_EQ(config.at("model.strides"), "[5, 2, 2, 2]");
  EXPECT_EQ(config.at("features.kind"), "waveform");
  EXPECT_EQ(config.at("text.fold"), "upper");
  EXPECT_EQ(config.at("model.dropout"), "0.1");
  EXPECT_EQ(config.at("model.layer_drop"), "0.1");
  EXPECT_EQ(config.at("model.apply_spec_augment"), "true");
  EXPECT_EQ(config.at("model.mask_time_prob"), "0.05");
  EXPECT_EQ(config.at("model.mask_time_min_masks"), "2");
  EXPECT_EQ(config.at("model.mask_feature_prob"), "0");
  EXPECT_EQ(checkpoint.state().step, 0);
  const test::Golden theirs(kWav2Vec2 + "/model");
  EXPECT_EQ(test::read_tensor(checkpoint, "mask.embedding"),
            std::vector<float>(theirs["wav2vec2.masked_spec_embed"].begin(),
                               theirs["wav2vec2.masked_spec_embed"].end()));
}

TEST_F(Import, ReadsFormerNamesAndHalves) {
  const auto folder = spoilt(kWav2Vec2);
  test::change_tensors(folder / "model.safetensors", [](test::FileTensors& tensors) {
    const std::string conv = "wav2vec2.encoder.pos_conv_embed.conv.";
    for (const char* names : {"weight_g", "weight_v"}) {
      const bool length = std::string_view(names) == "weight_g";
      auto node = tensors.extract(conv + "parametrizations.weight.original" + (length ? "0" : "1"));
      node.key() = conv + names;
      tensors.insert(std::move(node));
    }
    test::FileTensor& bias = tensors.at("lm_head.bias");
    bias.dtype = layers::DType::bf16;
    std::vector<std::byte> halves;
    for (std::size_t i = 0; i < bias.bytes.size(); i += 4)  // the upper half of an FP32 number
      halves.insert(halves.end(), bias.bytes.begin() + i + 2, bias.bytes.begin() + i + 4);
    bias.bytes = halves;
  });
  EXPECT_EQ(fault(), "");
}

TEST_F(Import, NamesEveryTensorThatDoesNotFit) {
  const auto folder = spoilt(kWav2Vec2);
  test::change_tensors(folder / "model.safetensors", [](test::FileTensors& tensors) {
    tensors.erase("lm_head.bias");
    tensors["lm_head.bonus"] = tensors.at("wav2vec2.encoder.layer_norm.bias");
    tensors.at("lm_head.weight").shape = {12, 9};
    auto& ints = tensors.at("wav2vec2.encoder.layer_norm.weight");
    ints.dtype = layers::DType::i32;
  });
  const std::string message = fault();
  for (const char* part : {"lacks lm_head.bias", "lm_head.bonus", "lm_head.weight is [12, 9]",
                           "layer_norm.weight is of I32, expected F32, F16 or BF16"})
    EXPECT_NE(message.find(part), std::string::npos) << part << ": " << message;
}

TEST_F(Import, GivesPretrainedModelsANewHead) {
  configs::TextConfig text;
  text.alphabet = "ab ";
  const ImportReport report = import_model(test::source("tests/golden/wav2vec2_for_pretraining"),
                                           checkpoint_, {.text = text});
  EXPECT_TRUE(report.new_head);
  EXPECT_EQ(report.labels, 4);
  EXPECT_EQ(report.left_out, (std::vector<std::string>{
                                 "project_hid.bias", "project_hid.weight", "project_q.bias",
                                 "project_q.weight", "quantizer.codevectors",
                                 "quantizer.weight_proj.bias", "quantizer.weight_proj.weight"}));
  const Checkpoint checkpoint = open_checkpoint(checkpoint_);
  EXPECT_EQ(checkpoint.tensor("output.weight").shape, (layers::Shape{4, 8}));
  EXPECT_EQ(checkpoint.state().config.at("text.alphabet"), "ab ");
  EXPECT_TRUE(checkpoint.contains("mask.embedding"));
}

TEST_F(Import, WantsLabelsWhereThereIsNoHead) {
  const auto refusal = [&](const std::string& name,
                           const std::optional<configs::TextConfig>& text) {
    return test::message_of<ConfigError>(
        [&] { import_model(test::source("tests/golden/" + name), checkpoint_, {.text = text}); });
  };
  EXPECT_NE(refusal("wav2vec2_for_pretraining", {}).find("a Wav2Vec2ForPreTraining has no head"),
            std::string::npos);
  EXPECT_NE(refusal(kHubert, configs::TextConfig{}).find("a HubertForCTC has a head"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(checkpoint_));
}

TEST_F(Import, NamesTheNearestRelativeThatItReads) {
  test::change_text(spoilt(kParakeet) / "config.json", "parakeet_ctc", "lasr_ctc");
  expect_fault("model_type is \"lasr_ctc\", but penstock reads wav2vec2 (Wav2Vec2ForCTC), ");
  expect_fault(". Its nearest relative among them is parakeet_ctc: a Conformer");
}

// Whoever saved the model alone is not sent for a processor first.
TEST_F(Import, NamesAnotherArchitectureBeforeItsMissingProcessor) {
  const std::filesystem::path folder = spoilt(kParakeet);
  for (const char* processor : {"preprocessor_config.json", "processor_config.json"})
    std::filesystem::remove(folder / processor);
  expect_fault("holds neither preprocessor_config.json nor processor_config.json");
  test::change_text(folder / "config.json", "parakeet_ctc", "moonshine");
  expect_fault("model_type is \"moonshine\", but penstock reads");
}

TEST_F(Import, SaysHowToConvertPickledWeights) {
  const std::filesystem::path folder = spoilt(kHubert);
  std::filesystem::rename(folder / "model.safetensors", folder / "pytorch_model.bin");
  expect_fault("holds pytorch_model.bin, weights as PyTorch pickles them");
  expect_fault(
      "from transformers import HubertForCTC as M; "
      "M.from_pretrained(sys.argv[1]).save_pretrained(sys.argv[1])\" '" +
      folder.string() + "'");
}

TEST_F(Import, RefusesOtherModelsByName) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"\"model_type\": \"wav2vec2\"", "\"model_type\": \"wavlm\"", "model_type is \"wavlm\""},
      {"Wav2Vec2ForCTC", "Wav2Vec2ForXVector", "architectures is"},
      {"\"feat_extract_norm\": \"layer\"", "\"feat_extract_norm\": \"batch\"",
       "model.frontend_norm = batch"},
      {"\"do_stable_layer_norm\": true", "\"do_stable_layer_norm\": \"no\"",
       "do_stable_layer_norm is \"no\", but it must be"},
      {"\"add_adapter\": false", "\"add_adapter\": true", "add_adapter is true"},
      {"\"adapter_attn_dim\": null", "\"adapter_attn_dim\": 0",
       "adapter_attn_dim is 0, but it must be a whole number above 0"},
      {"\"adapter_attn_dim\": null", "\"adapter_attn_dim\": 16",
       "lacks wav2vec2.encoder.layers.0.adapter_layer.norm.weight"},
      {"\"num_attention_heads\": 3", "\"num_attention_heads\": 5", "num_attention_heads: 5 heads"},
      {"\"vocab_size\": 9", "\"vocab_size\": 10", "row 9 stands for none"},
      {"\"hidden_size\": 12", "\"hidden_size\": 0", "hidden_size is 0, but it must be"},
  };
  for (const auto& [from, to, said] : cases) {
    test::change_text(spoilt(kWav2Vec2) / "config.json", from, to);
    expect_fault(said);
  }
}

TEST_F(Import, NamesMissingFiles) {
  for (const char* file :
       {"config.json", "model.safetensors", "preprocessor_config.json", "vocab.json"}) {
    std::filesystem::remove(spoilt(kWav2Vec2) / file);
    expect_fault(file);
  }
  std::filesystem::remove_all(output_.path() / "spoilt");
  expect_fault("is no folder");
}

TEST_F(Import, ReadsSettingsOfAProcessor) {
  const auto folder = spoilt(kWav2Vec2);
  const std::string features = test::read_file(folder / "preprocessor_config.json");
  std::filesystem::remove(folder / "preprocessor_config.json");
  test::write_file(folder / "processor_config.json", "{\"feature_extractor\": " + features + "}");
  EXPECT_EQ(fault(), "");
}

TEST_F(Import, ReplacesNoCheckpoint) {
  import(kWav2Vec2);
  EXPECT_NE(test::message_of<CheckpointError>([&] { import(kWav2Vec2); }).find("is there already"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
