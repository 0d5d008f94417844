#include "runtime/huggingface/export.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/save.h"
#include "runtime/huggingface/import.h"
#include "runtime/huggingface/settings.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

const std::string kImported = "wav2vec2_for_ctc";

/// A checkpoint as trainings of 0.1 saved them, of an imported one: without what came with it.
void save_as_trained(const Checkpoint& imported, const std::filesystem::path& output,
                     const std::function<void(TrainingState&)>& change = {},
                     std::int64_t rows_of_head = 0, const PassthroughParts& kept = {}) {
  std::vector<std::vector<std::byte>> numbers;
  std::vector<CheckpointPiece> pieces;
  for (const auto& [name, tensor] : imported.tensors()) {
    if (name.starts_with(kKeptTensors)) continue;
    layers::Shape shape = tensor.shape;
    const std::int64_t count = layers::element_count(shape);
    if (rows_of_head > 0 && name.starts_with("output.")) shape.front() = rows_of_head;
    const std::int64_t wanted = layers::element_count(shape);
    numbers.emplace_back(static_cast<std::size_t>(wanted) * layers::size_of(tensor.dtype));
    imported.read(name, 0, count, std::span(numbers.back()).first(count * sizeof(float)));
    pieces.push_back({name, tensor.dtype, shape, 0, wanted, numbers.back().data()});
  }
  TrainingState state = imported.state();
  state.step = 7;
  if (change) change(state);
  const auto folder = start_save(output, state.step);
  commit(folder, state, {write_shard(folder, "stage-0", pieces)}, {}, kept);
}

/// Fails unless both have the same numbers, but for those that are only kept.
void expect_equal(const Checkpoint& before, const Checkpoint& again) {
  for (const auto& [name, tensor] : before.tensors()) {
    if (name.starts_with(kKeptTensors)) continue;
    const std::int64_t count = layers::element_count(tensor.shape);
    std::vector<std::byte> a(static_cast<std::size_t>(count) * sizeof(float)), b = a;
    before.read(name, 0, count, a);
    again.read(name, 0, count, b);
    EXPECT_EQ(a, b) << name;
  }
}

class Export : public testing::Test {
 protected:
  std::filesystem::path golden(const std::string& name) const {
    return test::source("tests/golden/" + name);
  }
  void import(const std::string& name) {
    std::filesystem::remove_all(at("imported"));
    import_model(golden(name), at("imported"));
  }
  std::filesystem::path at(const std::string& name) const { return output_.path() / name; }

  /// Fails unless import and export give the folder back: tensors to the byte.
  void expect_round_trip(const std::string& name) {
    import(name);
    std::filesystem::remove_all(at("exported"));
    const ExportReport report = export_model(at("imported"), at("exported"));
    EXPECT_EQ(report.files, 1);
    EXPECT_EQ(test::tensors_of_file(at("exported") / "model.safetensors"),
              test::tensors_of_file(golden(name) / "model.safetensors"));
    EXPECT_EQ(read_settings(at("exported") / "config.json"),
              read_settings(golden(name) / "config.json"));
    for (const auto& entry : std::filesystem::directory_iterator(at("exported"))) {
      const auto file = entry.path().filename();
      if (file == "tokenizer.model") {  // what tokenizer.json is, beside it
        EXPECT_FALSE(std::filesystem::exists(golden(name) / file));
      } else if (file.extension() == ".safetensors") {
        EXPECT_EQ(test::tensors_of_file(entry.path()), test::tensors_of_file(golden(name) / file));
      } else if (file != "config.json") {
        EXPECT_EQ(test::read_file(entry.path()), test::read_file(golden(name) / file)) << file;
      }
    }
  }

  test::TemporaryFolder output_;
};

TEST_F(Export, GivesEncodersBack) {
  for (const char* name :
       {"wav2vec2_for_ctc", "hubert_for_ctc", "wav2vec2_bert_for_ctc", "omniasr_for_ctc",
        "parakeet_for_ctc", "parakeet_for_rnnt", "parakeet_for_tdt"})
    expect_round_trip(name);
}

// A recipe without an import's files, whose keys only one architecture has.
TEST_F(Export, ChoosesTheArchitectureThatHasTheKeys) {
  import("hubert_for_ctc");
  const auto model_type = [&](const char* projection_norm) {
    for (const char* folder : {"trained", "exported"}) std::filesystem::remove_all(at(folder));
    save_as_trained(Checkpoint(at("imported")), at("trained"), [&](TrainingState& state) {
      state.config.at("model.projection_norm") = projection_norm;
    });
    export_model(at("trained"), at("exported"));
    return read_settings(at("exported") / "config.json").at("model_type");
  };
  EXPECT_EQ(model_type("true"), "\"wav2vec2\"");
  EXPECT_EQ(model_type("false"), "\"hubert\"");
}

TEST_F(Export, GivesOmniAsrsLanguageModelBack) {
  expect_round_trip("omniasr_for_conditional_generation");
}

TEST_F(Export, GivesAttentionDecodersBack) {
  for (const char* name : {"whisper", "canary", "cohere_asr"})
    expect_round_trip(name + std::string("_for_conditional_generation"));
}

TEST_F(Export, GivesQwen3AsrBack) { expect_round_trip("qwen3_asr_for_conditional_generation"); }

// Another alphabet's labels are rows as they are, and frames take the last row.
TEST_F(Export, MakesTheFilesOfATrainedQwen3Asr) {
  import("qwen3_asr_for_conditional_generation");
  save_as_trained(Checkpoint(at("imported")), at("trained"), [](TrainingState& state) {
    for (const auto& [key, value] : Settings{{"text.kind", "alphabet"},
                                             {"text.alphabet", " abcdef"},
                                             {"text.fold", "lower"},
                                             {"decoder.prefix", "[]"},
                                             {"decoder.prompt", "[9]"},
                                             {"decoder.bos", "8"},
                                             {"decoder.eos", "7"}})
      state.config.at(key) = value;
  });
  export_model(at("trained"), at("exported"));
  const Settings config = read_settings(at("exported") / "config.json");
  for (const auto& [name, value] : Settings{{"model_type", "\"qwen3_asr\""},
                                            {"audio_config.d_model", "12"},
                                            {"audio_config.n_window", "50"},
                                            {"audio_config.n_window_infer", "200"},
                                            {"audio_config.output_dim", "8"},
                                            {"audio_token_id", "268"},
                                            {"eos_token_id", "7"},
                                            {"pad_token_id", "7"},
                                            {"text_config.head_dim", "6"},
                                            {"text_config.num_key_value_heads", "2"},
                                            {"text_config.vocab_size", "269"},
                                            {"tie_word_embeddings", "true"}})
    EXPECT_TRUE(same_json(config.at(name), value)) << name << ": " << config.at(name);
  EXPECT_EQ(read_settings(at("exported") / "generation_config.json"),
            (Settings{{"eos_token_id", "7"}, {"pad_token_id", "7"}}));
  EXPECT_EQ(read_settings(at("exported") / "preprocessor_config.json").at("min_length"), "8000");
}

/// Saves the language model as a training with an alphabet would, whose last row is free or not.
void save_language_model(const Checkpoint& imported, const std::filesystem::path& output,
                         const std::string& alphabet, const PassthroughParts& kept = {}) {
  save_as_trained(
      imported, output,
      [&](TrainingState& state) {
        state.config.at("text.kind") = "alphabet";
        state.config.at("text.alphabet") = alphabet;
        state.config.at("text.fold") = "lower";
        state.config.at("decoder.eos") = "14";
        state.config.at("decoder.dropout") = "0.25";
      },
      0, kept);
}

TEST_F(Export, MakesTheFilesOfATrainedLanguageModel) {
  import("omniasr_for_conditional_generation");
  save_language_model(Checkpoint(at("imported")), at("trained"), " abcdef");
  export_model(at("trained"), at("exported"));
  const Settings config = read_settings(at("exported") / "config.json");
  for (const auto& [name, value] : Settings{{"model_type", "\"omniasr\""},
                                            {"audio_config.hidden_size", "12"},
                                            {"audio_token_id", "15"},
                                            {"bos_token_id", "0"},
                                            {"eos_token_id", "14"},
                                            {"pad_token_id", "14"},
                                            {"text_config.model_type", "\"llama\""},
                                            {"text_config.attention_dropout", "0.25"},
                                            {"text_config.head_dim", "8"},
                                            {"text_config.num_key_value_heads", "3"},
                                            {"text_config.rms_norm_eps", "1e-5"},
                                            {"text_config.rope_parameters.rope_theta", "10000"},
                                            {"text_config.vocab_size", "16"}})
    EXPECT_TRUE(same_json(config.at(name), value)) << name << ": " << config.at(name);
  EXPECT_FALSE(config.contains("vocab_size"));
  EXPECT_EQ(read_settings(at("exported") / "generation_config.json"),
            (Settings{{"bos_token_id", "0"}, {"eos_token_id", "14"}, {"pad_token_id", "14"}}));
  const Settings tokens = read_settings(at("exported") / "tokenizer_config.json");
  EXPECT_EQ(tokens.at("bos_token"), "\"<s>\"");
  EXPECT_EQ(tokens.at("eos_token"), "\"<14>\"");
  import_model(at("exported"), at("again"));
  expect_equal(Checkpoint(at("imported")), Checkpoint(at("again")));
}

TEST_F(Export, KeepsARowFreeForFrames) {
  import("omniasr_for_conditional_generation");
  save_language_model(Checkpoint(at("imported")), at("trained"), " abcdefghijklmn");
  EXPECT_EQ(test::message_of<ConfigError>([&] { export_model(at("trained"), at("exported")); }),
            "OmniASRForConditionalGeneration of transformers puts a token that no text has, "
            "audio_token_id, where frames are, but all 16 classes have a meaning: train with "
            "model.classes = 17 or more");
  EXPECT_FALSE(std::filesystem::exists(at("exported")));
}

// The end of texts is in two files of an imported model.
TEST_F(Export, ChangesTheEndOfTextsInBothFiles) {
  import("omniasr_for_conditional_generation");
  const Checkpoint imported(at("imported"));
  save_as_trained(
      imported, at("trained"), [](TrainingState& state) { state.config.at("decoder.eos") = "1"; },
      0, read_kept(imported));
  export_model(at("trained"), at("exported"));
  for (const char* file : {"config.json", "generation_config.json"})
    EXPECT_EQ(read_settings(at("exported") / file).at("eos_token_id"), "1") << file;
}

// The row of its end, 259, is label 0, and the rows before it have moved.
TEST_F(Export, GivesSuppressedTokensBack) {
  const auto folder = at("folder");
  std::filesystem::copy(golden("whisper_for_conditional_generation"), folder);
  const auto file = folder / "generation_config.json";
  test::change_text(file, "\"bos_token_id\"",
                    "\"suppress_tokens\": [1, 9, 266, 99999], \"begin_suppress_tokens\": [32, "
                    "259], \"bos_token_id\"");
  import_model(folder, at("imported"));
  const Checkpoint imported(at("imported"));
  EXPECT_EQ(imported.state().config.at("decoder.suppress"), "[2, 10, 266]");
  EXPECT_EQ(imported.state().config.at("decoder.begin_suppress"), "[33, 0]");
  save_as_trained(
      imported, at("trained"), [](TrainingState&) {}, 0, read_kept(imported));
  export_model(at("trained"), at("exported"));
  EXPECT_EQ(test::read_file(at("exported") / "generation_config.json"), test::read_file(file));

  save_as_trained(
      imported, at("changed"),
      [](TrainingState& state) { state.config.at("decoder.suppress") = "[0, 5]"; }, 0,
      read_kept(imported));
  export_model(at("changed"), at("other"));
  const Settings other = read_settings(at("other") / "generation_config.json");
  EXPECT_EQ(other.at("suppress_tokens"), "[259,4]");
  EXPECT_EQ(other.at("begin_suppress_tokens"), "[32,259]");
  save_as_trained(imported, at("anew"), [](TrainingState& state) {
    state.config.at("text.kind") = "alphabet";
    state.config.at("text.alphabet") = " abcdef";
  });
  export_model(at("anew"), at("own"));
  EXPECT_EQ(read_settings(at("own") / "generation_config.json").at("suppress_tokens"),
            "[2,10,266]");
}

// The folder has the lists in config.json, or the class's defaults.
TEST_F(Export, WritesChangedSuppressionOfOlderFolders) {
  const auto folder = at("folder");
  std::filesystem::copy(golden("whisper_for_conditional_generation"), folder);
  std::filesystem::remove(folder / "generation_config.json");
  test::change_text(folder / "config.json", R"("begin_suppress_tokens": null)",
                    R"("begin_suppress_tokens": [220, 50256])");
  import_model(folder, at("imported"));
  const Checkpoint imported(at("imported"));
  EXPECT_EQ(imported.state().config.at("decoder.begin_suppress"), "[221]");
  const auto export_with = [&](const std::string& name, const std::string& suppress) {
    save_as_trained(
        imported, at(name + "-trained"),
        [&](TrainingState& state) { state.config.at("decoder.suppress") = suppress; }, 0,
        read_kept(imported));
    export_model(at(name + "-trained"), at(name));
    return at(name) / "generation_config.json";
  };
  EXPECT_FALSE(std::filesystem::exists(export_with("same", "[]")));
  const Settings written = read_settings(export_with("changed", "[0, 5]"));
  EXPECT_EQ(written.at("suppress_tokens"), "[259,4]");
  EXPECT_EQ(written.at("begin_suppress_tokens"), "[220]");
  const Settings config = read_settings(folder / "config.json");
  for (const char* id : {"bos_token_id", "decoder_start_token_id", "eos_token_id", "pad_token_id"})
    EXPECT_EQ(written.at(id), config.at(id)) << id;
  import_model(at("changed"), at("again"));
  EXPECT_EQ(Checkpoint(at("again")).state().config.at("decoder.suppress"), "[0, 5]");
}

// With the adapters and the head of its language in a file of their own.
TEST_F(Export, GivesMmsBack) {
  expect_round_trip("mms_for_ctc");
  EXPECT_TRUE(std::filesystem::exists(at("exported") / "adapter.eng.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(at("exported") / "adapter.rus.safetensors"));
}

TEST_F(Export, GivesTheLanguageBackThatWasChosen) {
  import_model(golden("mms_for_ctc"), at("imported"), {.language = "rus"});
  export_model(at("imported"), at("exported"));
  EXPECT_EQ(test::tensors_of_file(at("exported") / "adapter.rus.safetensors"),
            test::tensors_of_file(golden("mms_for_ctc") / "adapter.rus.safetensors"));
  EXPECT_EQ(read_settings(at("exported") / "config.json").at("vocab_size"), "10");
  EXPECT_EQ(read_settings(at("exported") / "tokenizer_config.json").at("target_lang"), "\"rus\"");
  import_model(at("exported"), at("again"));
  expect_equal(Checkpoint(at("imported")), Checkpoint(at("again")));
}

// The files of the CTC model whose encoder it started from are of no use to it.
TEST_F(Export, MakesTheFilesOfATrainedTransducer) {
  import("parakeet_for_ctc");
  const PassthroughParts kept = read_kept(Checkpoint(at("imported")));
  import("parakeet_for_tdt");
  save_as_trained(
      Checkpoint(at("imported")), at("trained"),
      [](TrainingState& state) {
        state.config.at("text.kind") = "alphabet";
        state.config.at("text.alphabet") = " abcdefg";
        state.config.at("text.fold") = "lower";
      },
      0, kept);
  export_model(at("trained"), at("exported"));
  const Settings config = read_settings(at("exported") / "config.json");
  for (const auto& [name, value] : Settings{{"model_type", "\"parakeet_tdt\""},
                                            {"vocab_size", "9"},
                                            {"blank_token_id", "8"},
                                            {"pad_token_id", "8"},
                                            {"decoder_hidden_size", "10"},
                                            {"hidden_act", "\"relu\""},
                                            {"durations", "[0,1,3]"}})
    EXPECT_EQ(config.at(name), value) << name;
  EXPECT_EQ(read_settings(at("exported") / "generation_config.json").at("suppress_tokens"),
            "[9,10,11]");
  EXPECT_EQ(read_settings(at("exported") / "tokenizer_config.json").at("pad_token"), "\"<blank>\"");
  import_model(at("exported"), at("again"));
  expect_equal(Checkpoint(at("imported")), Checkpoint(at("again")));
}

TEST_F(Export, RefusesTransducersThatTransformersLacks) {
  const auto message = [&](const char* golden, const char* key, const char* value) {
    import(golden);
    std::filesystem::remove_all(at("trained"));
    save_as_trained(Checkpoint(at("imported")), at("trained"),
                    [&](TrainingState& state) { state.config.at(key) = value; });
    return test::message_of<ConfigError>([&] { export_model(at("trained"), at("exported")); });
  };
  std::string said = message(kImported.c_str(), "model.decoder", "tdt");
  EXPECT_NE(said.find("model.kind = wav2vec2 with model.decoder = tdt has no counterpart"),
            std::string::npos)
      << said;
  said = message("parakeet_for_rnnt", "decoder.prediction", "stateless");
  EXPECT_NE(said.find("decoder.prediction = lstm, but the checkpoint has stateless"),
            std::string::npos)
      << said;
  said = message("parakeet_for_rnnt", "decoder.ctc_weight", "0.3");
  EXPECT_NE(said.find("trained beside CTC (decoder.ctc_weight = 0.3) has no counterpart"),
            std::string::npos)
      << said;
  EXPECT_FALSE(std::filesystem::exists(at("exported")));
}

// Its tokenizer is of the alphabet's characters, and the blank is the last row.
TEST_F(Export, MakesTheFilesOfATrainedParakeet) {
  import("parakeet_for_ctc");
  save_as_trained(Checkpoint(at("imported")), at("trained"), [](TrainingState& state) {
    state.config.at("text.kind") = "alphabet";
    state.config.at("text.alphabet") = " abcdef";
    state.config.at("text.fold") = "lower";
  });
  export_model(at("trained"), at("exported"));
  import_model(at("exported"), at("again"));
  const Checkpoint again(at("again"));
  EXPECT_EQ(again.state().config.at("text.alphabet"), " abcdef");
  expect_equal(Checkpoint(at("imported")), again);
}

TEST_F(Export, WritesHalvesInSeveralFiles) {
  import(kImported);
  const ExportReport report = export_model(at("imported"), at("exported"),
                                           {.dtype = layers::DType::f16, .shard_bytes = 3000});
  EXPECT_GT(report.files, 2);
  const std::string config = test::read_file(at("exported") / "config.json");
  EXPECT_NE(config.find("\"dtype\": \"float16\""), std::string::npos);
  import_model(at("exported"), at("again"));
  const Checkpoint again(at("again")), before(at("imported"));
  for (const auto& [name, tensor] : before.tensors()) {
    const std::int64_t count = layers::element_count(tensor.shape);
    std::vector<float> a(static_cast<std::size_t>(count)), b = a;
    before.read(name, 0, count, std::as_writable_bytes(std::span(a)));
    again.read(name, 0, count, std::as_writable_bytes(std::span(b)));
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(a[i], b[i], 1e-3 * std::abs(a[i]) + 1e-7);
  }
}

// Nothing but the recipe says what the labels are.
TEST_F(Export, MakesTheFilesOfATrainedModel) {
  import(kImported);
  save_as_trained(Checkpoint(at("imported")), at("trained"));
  export_model(at("trained"), at("exported"));
  const auto theirs = test::tensors_of_file(golden(kImported) / "model.safetensors");
  const auto ours = test::tensors_of_file(at("exported") / "model.safetensors");
  ASSERT_EQ(theirs.size(), ours.size());
  for (const auto& [name, tensor] : ours) {
    EXPECT_EQ(tensor.shape, theirs.at(name).shape) << name;
    if (!name.starts_with("lm_head") && !name.ends_with("masked_spec_embed")) {
      EXPECT_EQ(tensor.bytes, theirs.at(name).bytes) << name;
    }
  }
  import_model(at("exported"), at("again"));
  const Checkpoint again(at("again"));
  EXPECT_EQ(again.state().config.at("model.width"), "12");
  expect_equal(Checkpoint(at("imported")), again);
}

// A head that started anew with other rows, beside the tokenizer of the import.
TEST_F(Export, NamesRowsThatNoTokenHas) {
  import(kImported);
  const Checkpoint imported(at("imported"));
  save_as_trained(imported, at("trained"), {}, 13, read_kept(imported));
  export_model(at("trained"), at("exported"));
  import_model(at("exported"), at("again"));
  EXPECT_EQ(Checkpoint(at("again")).tensor("output.bias").shape, layers::Shape{13});
  EXPECT_NE(test::read_file(at("exported") / "vocab.json").find("\"<12>\": 12"), std::string::npos);
}

TEST_F(Export, RefusesFoldersWithinTheCheckpoint) {
  import(kImported);
  EXPECT_NE(test::message_of<CheckpointError>([&] {
              export_model(at("imported"), at("imported") / "x");
            }).find("lies in the checkpoint"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(at("imported") / "x"));
}

TEST_F(Export, PutsTheBlankFirstInNewVocabularies) {
  import(kImported);
  save_as_trained(Checkpoint(at("imported")), at("trained"), [](TrainingState& state) {
    state.config.at("text.alphabet") = " abcd|fg";
    state.config.at("text.fold") = "none";
  });
  export_model(at("trained"), at("exported"));
  const std::string vocabulary = test::read_file(at("exported") / "vocab.json");
  EXPECT_EQ(vocabulary.find("{\n  \"<pad>\": 0,\n  \"<space>\": 1,\n  \"a\": 2,"), 0u)
      << vocabulary;
}

TEST_F(Export, RefusesModelsThatTransformersLacks) {
  const auto checkpoint = test::source("tests/golden/checkpoint_0.1");
  EXPECT_NE(test::message_of<ConfigError>([&] {
              export_model(checkpoint, at("exported"));
            }).find("model.kind = deepspeech2 has no counterpart"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(at("exported")));
}

// A Conformer has other tensors then, so its keys are looked at first.
TEST_F(Export, RefusesConformersThatTransformersLacks) {
  import("parakeet_for_ctc");
  save_as_trained(Checkpoint(at("imported")), at("trained"),
                  [](TrainingState& state) { state.config.at("model.subsampling") = "4"; });
  EXPECT_NE(test::message_of<ConfigError>([&] {
              export_model(at("trained"), at("exported"));
            }).find("model.subsampling = 8, but the checkpoint has 4"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(at("exported")));
}

// Other values than those that the import set, and keys that stand for the same number.
TEST_F(Export, TakesConformersOfOtherRecipes) {
  import("parakeet_for_ctc");
  save_as_trained(Checkpoint(at("imported")), at("trained"), [](TrainingState& state) {
    state.config.at("model.output_dropout") = "true";
    state.config.at("features.fft") = "0";
  });
  export_model(at("trained"), at("exported"));
  EXPECT_EQ(read_settings(at("exported") / "preprocessor_config.json").at("n_fft"), "400");
}

// Their keys may hold dots, and objects may be empty.
TEST_F(Export, KeepsWhateverConfigJsonHolds) {
  std::filesystem::copy(golden(kImported), at("theirs"));
  test::change_text(at("theirs") / "config.json", "\"vocab_size\": 9",
                    "\"label2id\": {\"a.b\": 0}, \"none\": {}, \"vocab_size\": 9");
  import_model(at("theirs"), at("imported"));
  export_model(at("imported"), at("exported"));
  const std::string config = test::read_file(at("exported") / "config.json");
  EXPECT_NE(config.find("\"a.b\": 0"), std::string::npos) << config;
  EXPECT_NE(config.find("\"none\": {}"), std::string::npos) << config;
}

TEST_F(Export, FindsDamagedFiles) {
  import(kImported);
  test::change_text(at("imported") / "huggingface" / "vocab.json", "A", "Z");
  EXPECT_NE(test::message_of<CheckpointError>([&] {
              export_model(at("imported"), at("exported"));
            }).find("vocab.json: damaged"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
