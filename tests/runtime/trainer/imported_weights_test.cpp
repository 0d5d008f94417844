#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "comm/threads.h"
#include "configs/flatten.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/export.h"
#include "runtime/huggingface/import.h"
#include "runtime/huggingface/settings.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

/// Runs of one step from a model of transformers.
class ImportedWeights : public testing::Test {
 protected:
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  void write_corpus() const {
    std::string lines;
    for (const char* name : {"a.wav", "b.wav"}) {
      ASSERT_TRUE(test::write_sound(in(name), test::make_sound(16000, lines.empty() ? 1 : 2)));
      lines += std::string(R"({"audio_filepath": ")") + name + R"(", "text": "ab"})" + "\n";
    }
    test::write_file(in("train.jsonl"), lines);
  }

  /// The recipe of the imported model, for a run of one step.
  configs::Config recipe(const std::string& golden, const std::string& output) const {
    const std::string imported = in(golden);
    if (!std::filesystem::exists(imported))
      import_model(test::source("tests/golden/" + golden), imported);
    configs::Config config = configs::unflatten(open_checkpoint(imported).state().config,
                                                "the checkpoint", layers::model_families());
    config.data.train = {{in("train.jsonl")}};
    config.data.micro_batches = 1;
    config.trainer.steps = 1;
    config.trainer.output = in(output);
    config.trainer.init = imported;
    return config;
  }

  void run(const configs::Config& config, int ranks = 1) const {
    comm::run_as_threads({.ranks = ranks},
                         [&](comm::Communicator& world) { (void)train({config}, world, {}); });
  }

  /// Trains, and returns what it notes.
  std::string notes(const configs::Config& config, int ranks = 1) const {
    std::string heard;
    TrainingObserver observer;
    observer.note = [&](const std::string& text) { heard += text + "\n"; };
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      (void)train({config}, world, world.rank() == 0 ? observer : TrainingObserver{});
    });
    return heard;
  }

  /// Fails unless training takes the weights, whatever head it has.
  void expect_start(const std::string& golden, const std::string& head) {
    const std::string output = golden + "-" + head;
    configs::Config config = recipe(golden, output);
    config.optimizer.freeze = {"block1.attention.*"};
    config.trainer.init_head = head;
    run(config);
    const Checkpoint before = open_checkpoint(in(golden));
    const Checkpoint after = open_checkpoint(in(output));
    EXPECT_EQ(after.state().optimizer_steps, 1);
    EXPECT_EQ(numbers(after, kAttention), numbers(before, kAttention));
    EXPECT_NE(numbers(after, "output.weight"), numbers(before, "output.weight"));
  }

  /// Fails unless a run by rows has the import's rows of these numbers, and other rows for -1.
  void expect_rows(configs::Config config, const std::vector<int>& sources) const {
    config.trainer.init_head = "pieces";
    config.optimizer.learning_rate = 1e-30;  // no weight moves by as much as its last bit
    run(config);
    const Checkpoint before = open_checkpoint(config.trainer.init);
    const Checkpoint after = open_checkpoint(config.trainer.output);
    for (const char* name : {"output.weight", "output.bias"}) {
      const auto then = numbers(before, name), now = numbers(after, name);
      const layers::Shape& shape = after.tensor(name).shape;
      ASSERT_EQ(shape.front(), std::ssize(sources));
      const std::size_t size = now.size() / sources.size();
      for (std::size_t row = 0; row < sources.size(); ++row) {
        const auto own = std::span(now).subspan(row * size, size);
        bool found = false;
        for (std::size_t other = 0; other * size < then.size(); ++other) {
          const bool equal = std::ranges::equal(own, std::span(then).subspan(other * size, size));
          EXPECT_EQ(equal, static_cast<int>(other) == sources[row]) << name << row << other;
          found |= equal;
        }
        EXPECT_EQ(found, sources[row] >= 0) << name << row;
      }
    }
  }

  /// Fails unless an export has the file as it was imported.
  void expect_file(const std::string& golden, const std::string& exported, const char* file) const {
    EXPECT_EQ(test::read_file(in(exported) + "/" + file),
              test::read_file(test::source("tests/golden/" + golden + "/" + file)))
        << exported;
  }

 private:
  static constexpr const char* kAttention = "block1.attention.qkv.weight";

  static std::vector<std::byte> numbers(const Checkpoint& checkpoint, const char* name) {
    const std::int64_t count = layers::element_count(checkpoint.tensor(name).shape);
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * sizeof(float));
    checkpoint.read(name, 0, count, bytes);
    return bytes;
  }

  test::TemporaryFolder folder_;
};

TEST_F(ImportedWeights, StartTrainings) {
  write_corpus();
  for (const char* golden : {"wav2vec2_for_ctc", "parakeet_for_ctc"})
    for (const char* head : {"keep", "new", "pieces"}) expect_start(golden, head);
}

// The import has the rows <pad>, space, <unk>, A, ', B, É, C and CH, a stand-in.
TEST_F(ImportedWeights, KeepRowsOfCharacters) {
  write_corpus();
  configs::Config config = recipe("wav2vec2_for_ctc", "characters");
  config.text.alphabet = "BÖ ACÜ";
  expect_rows(config, {0, 5, -1, 1, 3, 7, -1});
}

// The import has the rows <pad>, <unk>, ▁a, ▁, a, b, c and ab.
TEST_F(ImportedWeights, KeepRowsOfPieces) {
  write_corpus();
  configs::Config config = recipe("parakeet_for_ctc", "pieces");
  config.text.kind = "alphabet";
  config.text.alphabet = "cxb a";
  expect_rows(config, {0, 6, -1, 5, 3, 4});
}

// Parakeet keeps numbers that no model of penstock has. Over two stages, and over a run that goes
// on.
TEST_F(ImportedWeights, HandOnWhatNothingComputesWith) {
  write_corpus();
  for (const std::string golden : {"wav2vec2_for_ctc", "parakeet_for_ctc"}) {
    configs::Config config = recipe(golden, golden + "-trained");
    config.pipeline.stages = 2;
    run(config, 2);
    std::filesystem::remove_all(in(golden));  // the run has what it needs
    config.trainer.steps = 2;
    config.trainer.resume = true;
    if (config.text.kind == "sentencepiece") config.text.model = in("gone.model");
    run(config, 2);
    export_model(in(golden + "-trained"), in(golden + "-exported"));
    const auto theirs = test::tensors_of_file(test::source("tests/golden/" + golden) /
                                              std::filesystem::path("model.safetensors"));
    const auto ours = test::tensors_of_file(in(golden + "-exported") + "/model.safetensors");
    EXPECT_EQ(ours.size(), theirs.size());
    for (const auto& [name, tensor] : ours) {
      const bool kept = name.ends_with("_tracked");
      EXPECT_EQ(tensor.bytes == theirs.at(name).bytes, kept) << name;
    }
    for (const char* file : {"config.json", "preprocessor_config.json", "tokenizer_config.json"})
      expect_file(golden, golden + "-exported", file);
    expect_file(golden, golden + "-exported",
                golden.starts_with("wav") ? "vocab.json" : "tokenizer.json");
  }
}

TEST_F(ImportedWeights, ExportsSayWhatTheRecipeDoes) {
  write_corpus();
  const std::string golden = "wav2vec2_for_ctc";
  configs::Config config = recipe(golden, "other");
  config.text.alphabet = "ab";
  config.text.fold = "none";
  auto keys = configs::flatten(config);
  keys["model.layer_drop"] = "0.25";
  keys["model.dropout"] = "0.125";
  run(configs::unflatten(keys, "a test", layers::model_families()));
  export_model(in("other"), in("exported"));
  const Settings settings = read_settings(in("exported") + "/config.json");
  EXPECT_EQ(settings.at("layerdrop"), "0.25");
  EXPECT_EQ(settings.at("hidden_dropout"), "0.125");
  EXPECT_EQ(settings.at("attention_dropout"), "0.125");
  EXPECT_EQ(settings.at("final_dropout"), "0.1");
  EXPECT_EQ(settings.at("vocab_size"), "3");
  EXPECT_EQ(settings.at("pad_token_id"), "0");  // in the imported model it was 2
  EXPECT_EQ(settings.at("mask_time_prob"), "0.05");
  EXPECT_EQ(read_settings(in("exported") + "/vocab.json"),
            (Settings{{"<pad>", "0"}, {"a", "1"}, {"b", "2"}}));
  expect_file(golden, "exported", "preprocessor_config.json");
  import_model(in("exported"), in("back"));
}

// A training may begin and end with masks at any time, since nothing else depends on the vector of
// masked frames.
TEST_F(ImportedWeights, GoOnWithOrWithoutMasks) {
  write_corpus();
  const std::string golden = "wav2vec2_for_ctc";
  const auto keys = [&](const std::string& output, const char* share) {
    auto all = configs::flatten(recipe(golden, output));
    all["model.mask_time_prob"] = share;
    return configs::unflatten(all, "a test", layers::model_families());
  };
  EXPECT_EQ(notes(keys("without", "0")).find("anew"), std::string::npos);
  EXPECT_FALSE(open_checkpoint(in("without")).contains("mask.embedding"));
  configs::Config with = keys("with", "0.5");
  with.trainer.init = in("without");
  EXPECT_NE(notes(with).find("; mask.embedding starts anew"), std::string::npos);
  EXPECT_TRUE(open_checkpoint(in("with")).contains("mask.embedding"));
}

// A new run may begin or end with CTC after blocks, and transformers never hears of it.
TEST_F(ImportedWeights, TrainBesideIntermediateCtc) {
  write_corpus();
  auto keys = configs::flatten(recipe("wav2vec2_for_ctc", "beside"));
  keys["model.intermediate_ctc"] = "[1]";
  keys["pipeline.stages"] = "2";
  const std::string heard = notes(configs::unflatten(keys, "a test", layers::model_families()), 2);
  EXPECT_NE(heard.find("; 4 parameters of intermediate CTC start anew"), std::string::npos)
      << heard;
  const std::string head = "block1.intermediate_ctc.output.weight";
  EXPECT_TRUE(open_checkpoint(in("beside")).contains(head));
  const ExportReport exported = export_model(in("beside"), in("exported"));
  import_model(in("exported"), in("back"));
  EXPECT_FALSE(open_checkpoint(in("back")).contains(head));
  EXPECT_EQ(export_model(in("back"), in("again")).parameters, exported.parameters);
  configs::Config without = recipe("wav2vec2_for_ctc", "without");
  without.trainer.init = in("beside");
  run(without);
  EXPECT_FALSE(open_checkpoint(in("without")).contains(head));
}

// Logits of other labels mean nothing, so both kinds start anew with the head.
TEST_F(ImportedWeights, StartIntermediateCtcAnewForOtherLabels) {
  write_corpus();
  for (const char* conditions : {"false", "true"}) {
    const std::string first = std::string("first-") + conditions;
    auto keys = configs::flatten(recipe("wav2vec2_for_ctc", first));
    keys["model.intermediate_ctc"] = "[1]";
    keys["model.self_conditioned_ctc"] = conditions;
    keys["trainer.init"] = "";
    run(configs::unflatten(keys, "a test", layers::model_families()));
    keys["trainer.init"] = in(first);
    keys["trainer.output"] = in(first + "-other");
    keys["text.alphabet"] = "BÖ ACÜ";
    const std::string heard = notes(configs::unflatten(keys, "a test", layers::model_families()));
    EXPECT_NE(heard.find("parameters of intermediate CTC start anew"), std::string::npos) << heard;
  }
}

// Frozen weights from nowhere would lead the blocks before them astray.
TEST_F(ImportedWeights, TrainWhatIntermediateCtcStartsAnew) {
  write_corpus();
  auto keys = configs::flatten(recipe("wav2vec2_for_ctc", "frozen"));
  keys["model.intermediate_ctc"] = "[1]";
  keys["lora.rank"] = "2";
  keys["lora.targets"] = "[\"block*.attention.*\"]";
  keys["lora.train"] = "[\"output.*\"]";
  const std::string message = test::message_of<ConfigError>(
      [&] { run(configs::unflatten(keys, "a test", layers::model_families())); });
  EXPECT_NE(message.find("with adapters add \"*_ctc.*\" to lora.train"), std::string::npos)
      << message;
  keys["lora.train"] = "[\"output.*\", \"*_ctc.*\"]";
  run(configs::unflatten(keys, "a test", layers::model_families()));
}

// Blocks that read labels are no class of transformers.
TEST_F(ImportedWeights, AreNotExportedIfBlocksReadLabels) {
  write_corpus();
  auto keys = configs::flatten(recipe("wav2vec2_for_ctc", "conditioned"));
  keys["model.intermediate_ctc"] = "[1]";
  keys["model.self_conditioned_ctc"] = "true";
  configs::Config config = configs::unflatten(keys, "a test", layers::model_families());
  EXPECT_THROW(run(config), CheckpointError);  // the imported weights have no condition
  config.trainer.init.clear();
  run(config);
  EXPECT_EQ(test::message_of<ConfigError>([&] { export_model(in("conditioned"), in("none")); }),
            "a model whose blocks read the labels of earlier ones (model.self_conditioned_ctc) has "
            "no counterpart in transformers");
}

// A share of 0 takes the tensor out of the export too, as in transformers.
TEST_F(ImportedWeights, ExportMasksOfTheRecipe) {
  write_corpus();
  for (const char* share : {"0", "0.25"}) {
    const std::string name = std::string("masks-") + share;
    auto keys = configs::flatten(recipe("wav2vec2_bert_for_ctc", name));
    keys["model.mask_time_prob"] = share;
    keys["model.mask_feature_length"] = "3";
    run(configs::unflatten(keys, "a test", layers::model_families()));
    export_model(in(name), in(name + "-exported"));
    const Settings settings = read_settings(in(name + "-exported") + "/config.json");
    EXPECT_TRUE(same_json(settings.at("mask_time_prob"), share));
    EXPECT_EQ(settings.at("mask_feature_length"), "3");
    EXPECT_EQ(settings.at("mask_time_length"), "10");
    const auto tensors = test::tensors_of_file(in(name + "-exported") + "/model.safetensors");
    EXPECT_EQ(tensors.contains("wav2vec2_bert.masked_spec_embed"), share != std::string("0"));
  }
}

// Architectures without such a vector are exported without it.
TEST_F(ImportedWeights, LeaveMasksOutOfOmniAsr) {
  write_corpus();
  auto keys = configs::flatten(recipe("omniasr_for_ctc", "masked"));
  keys["model.mask_time_prob"] = "0.3";
  run(configs::unflatten(keys, "a test", layers::model_families()));
  EXPECT_TRUE(open_checkpoint(in("masked")).contains("mask.embedding"));
  export_model(in("masked"), in("exported"));
  import_model(in("exported"), in("back"));
  EXPECT_FALSE(open_checkpoint(in("back")).contains("mask.embedding"));
}

}  // namespace
}  // namespace penstock::runtime
