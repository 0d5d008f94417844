#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "base/error.h"
#include "configs/flatten.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/passthrough_parts.h"
#include "runtime/checkpoint/save.h"
#include "runtime/huggingface/export.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/import.h"
#include "runtime/huggingface/low_rank_update.h"
#include "runtime/huggingface/peft_config.h"
#include "tests/support/runtime/adapter_folder.h"
#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/runtime/read_tensor.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

/// Numbers of a tensor in FP32.
std::vector<float> floats(const test::FileTensor& tensor) {
  std::vector<float> numbers(tensor.bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
  return numbers;
}

class ExportAdapter : public testing::Test {
 protected:
  fs::path in(const std::string& name) const { return folder_.path() / name; }
  static fs::path golden(const std::string& name) { return test::source("tests/golden/" + name); }

  void import(const std::string& base, const fs::path& adapter) const {
    import_model(golden(base), in("imported"), {.adapter = adapter});
  }

  /// Saves the imported checkpoint as if it had been trained: with a step, and with what `change`
  /// makes of its state and tensors.
  using Change = std::function<void(TrainingState&, std::map<std::string, std::vector<float>>&)>;
  void train(const Change& change) const {
    train(change, read_kept(open_checkpoint(in("imported"))));
  }
  void train(const Change& change, const PassthroughParts& kept) const {
    const Checkpoint imported = open_checkpoint(in("imported"));
    std::map<std::string, std::vector<float>> numbers;
    for (const auto& [name, tensor] : imported.tensors())
      if (!name.starts_with(kKeptTensors)) numbers[name] = test::read_tensor(imported, name);
    TrainingState state = imported.state();
    state.step = 3;
    change(state, numbers);
    std::vector<CheckpointPiece> pieces;
    for (auto& [name, values] : numbers)
      pieces.push_back({name, layers::DType::f32, imported.tensor(name).shape, 0,
                        static_cast<std::int64_t>(values.size()), values.data()});
    const fs::path folder = start_save(in("trained"), state.step);
    commit(folder, state, {write_shard(folder, "stage-0", pieces)}, tokenizer_bytes(imported),
           kept);
  }

  test::FileTensors exported(const std::string& from, const ExportOptions& options = {}) const {
    fs::remove_all(in("adapter"));
    export_adapter(in(from), in("adapter"), options);
    return test::tensors_of_file(in("adapter") / kAdapterWeights);
  }

  test::TemporaryFolder folder_;
};

// Ranks differ there, and one module has another alpha, whose B is multiplied by a quotient.
TEST_F(ExportAdapter, GivesAnImportedAdapterBack) {
  import("wav2vec2_for_ctc", golden("wav2vec2_adapter"));
  const test::FileTensors theirs =
      test::tensors_of_file(golden("wav2vec2_adapter") / kAdapterWeights);
  const test::FileTensors ours = exported("imported");
  const PeftConfig before = read_peft_config(golden("wav2vec2_adapter") / kAdapterConfig);
  const PeftConfig after = read_peft_config(in("adapter") / kAdapterConfig);
  ASSERT_EQ(ours.size(), theirs.size());
  for (const auto& [name, tensor] : theirs) {
    ASSERT_TRUE(ours.contains(name)) << name;
    EXPECT_EQ(ours.at(name).shape, tensor.shape) << name;
    if (!name.ends_with("lora_B.weight")) {
      EXPECT_EQ(ours.at(name), tensor) << name;
      continue;
    }
    const std::string module =
        name.substr(kAdapterPrefix.size(), name.rfind(".lora_B") - kAdapterPrefix.size());
    EXPECT_EQ(rank_of(after, module), rank_of(before, module));
    const std::vector<float> a = floats(ours.at(name)), b = floats(tensor);
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(scale_of(after, module) * a[i], scale_of(before, module) * b[i], 1e-6) << name;
  }
  EXPECT_EQ(after.targets, (std::vector<std::string>{"intermediate_dense", "q_proj", "v_proj"}));
  EXPECT_EQ(after.saved, std::vector<std::string>{"lm_head"});
  EXPECT_EQ(after.dropout, before.dropout);
  EXPECT_EQ(after.base_class, before.base_class);
  EXPECT_EQ(after.base_library, before.base_library);
}

TEST_F(ExportAdapter, GivesOneScaleBackToTheByte) {
  import("parakeet_for_ctc", golden("parakeet_adapter"));
  EXPECT_EQ(exported("imported"),
            test::tensors_of_file(golden("parakeet_adapter") / kAdapterWeights));
}

TEST_F(ExportAdapter, MergesIntoTheWeightsOfBothExports) {
  import("wav2vec2_for_ctc", golden("wav2vec2_adapter"));
  import_model(golden("wav2vec2_for_ctc"), in("merged"),
               {.adapter = golden("wav2vec2_adapter"), .merge = true});
  EXPECT_EQ(export_model(in("imported"), in("model")).merged, 4);
  EXPECT_EQ(export_weights(in("imported"), in("weights")).merged, 4);
  export_model(in("merged"), in("at once"));
  const test::FileTensors model = test::tensors_of_file(in("model") / "model.safetensors");
  for (const auto& [name, tensor] : test::tensors_of_file(in("at once") / "model.safetensors")) {
    const std::vector<float> a = floats(model.at(name)), b = floats(tensor);
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6) << name;
  }
  const Checkpoint weights = open_checkpoint(in("weights")), base = open_checkpoint(in("imported"));
  EXPECT_EQ(lora_of(weights), configs::LoraConfig{});
  EXPECT_EQ(weights.tensors().size() + 8, base.tensors().size());
  const auto before = test::read_tensor(base, "block1.attention.qkv.weight");
  const auto after = test::read_tensor(weights, "block1.attention.qkv.weight");
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(before[i] == after[i], i >= 144 && i < 288) << i;  // k alone has no adapter
}

TEST_F(ExportAdapter, WritesUntrainedAdaptersWhole) {
  import("wav2vec2_for_ctc", golden("wav2vec2_adapter"));
  train([](TrainingState&, auto& numbers) {
    for (auto& [name, values] : numbers)
      if (name.ends_with("lora_B.weight")) std::ranges::fill(values, 0.0f);
  });
  const test::FileTensors ours = exported("trained");
  const std::int64_t rank = lora_of(open_checkpoint(in("trained"))).rank;
  for (const char* module : {"q_proj", "k_proj", "v_proj"})
    EXPECT_EQ(ours.at(std::string("base_model.model.wav2vec2.encoder.layers.0.attention.") +
                      module + ".lora_A.weight")
                  .shape,
              (layers::Shape{rank, 12}));
}

TEST_F(ExportAdapter, SharesTheFactorOfQueriesKeysAndValues) {
  import("wav2vec2_for_ctc", golden("wav2vec2_adapter"));
  train([](TrainingState&, auto& numbers) {
    for (auto& [name, values] : numbers)
      if (name.ends_with("lora_B.weight"))
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1) / 64;
  });
  exported("trained");
  import_model(golden("wav2vec2_for_ctc"), in("again"), {.adapter = in("adapter")});
  const Checkpoint before = open_checkpoint(in("trained")), again = open_checkpoint(in("again"));
  EXPECT_EQ(lora_of(again).rank, lora_of(before).rank);
  EXPECT_EQ(lora_of(again).alpha, lora_of(before).alpha);
  for (const auto& [name, tensor] : before.tensors())
    if (name.find(".lora_") != std::string::npos) {
      EXPECT_EQ(test::read_tensor(again, name), test::read_tensor(before, name)) << name;
    }
}

// Batch norms follow their inputs in every training step, though they are frozen.
TEST_F(ExportAdapter, SavesStatisticsThatATrainingChanged) {
  test::write_adapter(in("small"), R"({"peft_type": "LORA", "r": 2, "target_modules": ["o_proj"]})",
                      {{"encoder.layers.0.self_attn.o_proj.lora_A.weight", {2, 12}},
                       {"encoder.layers.0.self_attn.o_proj.lora_B.weight", {12, 2}},
                       {"encoder.layers.1.self_attn.o_proj.lora_A.weight", {2, 12}},
                       {"encoder.layers.1.self_attn.o_proj.lora_B.weight", {12, 2}}});
  import("parakeet_for_ctc", in("small"));
  EXPECT_EQ(exported("imported").size(), 4u);
  train([](TrainingState&, auto&) {});
  const test::FileTensors ours = exported("trained");
  EXPECT_EQ(ours.size(), 14u);
  EXPECT_TRUE(ours.contains("base_model.model.encoder.layers.1.conv.norm.num_batches_tracked"));
  EXPECT_EQ(read_peft_config(in("adapter") / kAdapterConfig).saved,
            (std::vector<std::string>{"encoder.layers.0.conv.norm", "encoder.layers.1.conv.norm"}));
}

TEST_F(ExportAdapter, WritesHalvesAndTheNameOfTheBase) {
  import("wav2vec2_for_ctc", golden("wav2vec2_adapter"));
  const test::FileTensors ours =
      exported("imported", {.dtype = layers::DType::bf16, .base = "mine/base"});
  for (const auto& [name, tensor] : ours) EXPECT_EQ(tensor.dtype, layers::DType::bf16) << name;
  EXPECT_EQ(read_peft_config(in("adapter") / kAdapterConfig).base, "mine/base");
}

TEST_F(ExportAdapter, RefusesWhatHasNoForm) {
  import_model(golden("wav2vec2_for_ctc"), in("plain"));
  const auto fault = [&](const std::string& from) {
    return test::message_of<ConfigError>([&] { export_adapter(in(from), in("adapter")); });
  };
  EXPECT_NE(fault("plain").find("has no adapters"), std::string::npos);
  import("wav2vec2_for_ctc", golden("wav2vec2_adapter"));
  train([](TrainingState& state, auto&) { state.config.at("lora.train") = "[positions.conv.*]"; });
  EXPECT_NE(fault("trained").find("positions.conv.weight_g (wav2vec2.encoder.pos_conv_embed"),
            std::string::npos)
      << fault("trained");
  EXPECT_FALSE(fs::exists(in("adapter")));
}

TEST_F(ExportAdapter, HonoursPatternsThatTakeNamesOut) {
  import("wav2vec2_for_ctc", golden("wav2vec2_adapter"));
  train([](TrainingState& state, auto&) {
    state.config.at("lora.train") = "[positions.conv.*,output.*,!positions.*]";
  });
  EXPECT_TRUE(exported("trained").contains("base_model.model.lm_head.weight"));
}

// The imported tokenizer is gone after a training with other labels, and a new one is written.
TEST_F(ExportAdapter, NeedsTheHeadOfNewLabels) {
  import("wav2vec2_for_ctc", golden("wav2vec2_adapter"));
  const auto train_for = [&](const char* trained_too) {
    fs::remove_all(in("trained"));
    train(
        [&](TrainingState& state, auto&) {
          state.config.at("text.alphabet") = "ABCDEFGH";
          state.config.at("lora.train") = trained_too;
        },
        without_labels(read_kept(open_checkpoint(in("imported")))));
  };
  train_for("[]");
  const std::string message =
      test::message_of<ConfigError>([&] { export_adapter(in("trained"), in("adapter")); });
  EXPECT_NE(message.find("its head was not trained"), std::string::npos) << message;
  train_for("[output.*]");
  EXPECT_TRUE(exported("trained").contains("base_model.model.lm_head.weight"));
  EXPECT_NE(test::read_file(in("adapter") / "vocab.json").find("\"H\": 8"), std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
