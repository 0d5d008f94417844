#include "runtime/huggingface/adapter_stack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/import.h"
#include "runtime/huggingface/settings.h"
#include "tests/support/runtime/adapter_folder.h"
#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/runtime/read_tensor.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

using Tensors = std::map<std::string, layers::Shape>;
using Strings = std::vector<std::string>;

const std::string kLayer = "wav2vec2.encoder.layers.0.attention.";

/// Adapters of the golden wav2vec 2.0, whose products q, k and v have 12 channels.
class Stack : public testing::Test {
 protected:
  static void add(Tensors& tensors, const std::string& module, std::int64_t rank) {
    tensors[kLayer + module + ".lora_A.weight"] = {rank, 12};
    tensors[kLayer + module + ".lora_B.weight"] = {12, rank};
  }

  /// Imports the golden model with an adapter of these tensors and settings.
  Checkpoint import(const Tensors& tensors, const std::string& settings) {
    test::write_adapter(adapter_, R"({"peft_type": "LORA", )" + settings + "}", tensors);
    return import_again();
  }
  Checkpoint import_again() {
    std::filesystem::remove_all(checkpoint_);
    import_model(test::source("tests/golden/wav2vec2_for_ctc"), checkpoint_, {.adapter = adapter_});
    return open_checkpoint(checkpoint_);
  }

  std::vector<float> theirs(const std::string& name) const {
    const test::FileTensor tensor =
        test::tensors_of_file(adapter_ / kAdapterWeights).at("base_model.model." + kLayer + name);
    std::vector<float> floats(tensor.bytes.size() / sizeof(float));
    std::memcpy(floats.data(), tensor.bytes.data(), tensor.bytes.size());
    return floats;
  }

  test::TemporaryFolder output_;
  std::filesystem::path adapter_ = output_.path() / "adapter",
                        checkpoint_ = output_.path() / "imported";
};

TEST_F(Stack, GivesEachModuleABlockOfItsOwn) {
  Tensors tensors;
  add(tensors, "q_proj", 2);
  add(tensors, "v_proj", 1);
  const Checkpoint checkpoint =
      import(tensors, R"("r": 2, "lora_alpha": 3, "rank_pattern": {"v_proj": 1}, "alpha_pattern":
                  {"v_proj": 0.75}, "lora_dropout": 0.25)");
  const configs::LoraConfig lora = lora_of(checkpoint);
  EXPECT_EQ(lora.rank, 3);
  EXPECT_EQ(lora.alpha, 4.5);  // 3 · the largest scale
  EXPECT_EQ(lora.dropout, 0.25);
  EXPECT_EQ(lora.targets, Strings{"block1.attention.qkv"});
  EXPECT_EQ(lora.train, Strings{});
  const auto a = test::read_tensor(checkpoint, "block1.attention.qkv.lora_A.weight");
  const auto b = test::read_tensor(checkpoint, "block1.attention.qkv.lora_B.weight");
  std::vector<float> rows = theirs("q_proj.lora_A.weight"), last = theirs("v_proj.lora_A.weight");
  rows.insert(rows.end(), last.begin(), last.end());
  EXPECT_EQ(a, rows);
  const auto q = theirs("q_proj.lora_B.weight"), v = theirs("v_proj.lora_B.weight");
  for (std::size_t row = 0; row < 36; ++row)
    for (std::size_t k = 0; k < 3; ++k) {
      float expected = 0;
      if (row < 12 && k < 2) expected = q[2 * row + k];
      if (row >= 24 && k == 2) expected = v[row - 24] * 0.5f;  // scales 0.75 and 1.5
      EXPECT_EQ(b[3 * row + k], expected) << row << ", " << k;
    }
}

// An export gives q, k and v of one layer the same A.
TEST_F(Stack, SharesRowsOfEqualFactors) {
  Tensors tensors;
  for (const char* module : {"q_proj", "k_proj", "v_proj"}) add(tensors, module, 2);
  const std::string settings = R"("r": 2)";
  EXPECT_EQ(lora_of(import(tensors, settings)).rank, 6);
  test::change_tensors(adapter_ / kAdapterWeights, [](test::FileTensors& file) {
    const std::string begin = "base_model.model." + kLayer;
    file[begin + "v_proj.lora_A.weight"] = file[begin + "q_proj.lora_A.weight"];
  });
  EXPECT_EQ(lora_of(import_again()).rank, 4);
  const auto b =
      test::read_tensor(open_checkpoint(checkpoint_), "block1.attention.qkv.lora_B.weight");
  const auto v = theirs("v_proj.lora_B.weight");
  for (std::size_t row = 0; row < 12; ++row)
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_EQ(b[(24 + row) * 4 + k], k < 2 ? v[2 * row + k] : 0);
}

// Rows of A beyond the adapter's can be trained: they are not 0, but their columns of B are.
TEST_F(Stack, PadsSmallerRanksWithoutEffect) {
  Tensors tensors;
  add(tensors, "q_proj", 3);
  add(tensors, "out_proj", 1);
  const Checkpoint checkpoint =
      import(tensors, R"("r": 3, "lora_alpha": 3, "rank_pattern": {"out_proj": 1},
                         "alpha_pattern": {"out_proj": 1})");
  EXPECT_EQ(lora_of(checkpoint).rank, 3);
  const auto a = test::read_tensor(checkpoint, "block1.attention.output.lora_A.weight");
  const auto b = test::read_tensor(checkpoint, "block1.attention.output.lora_B.weight");
  const auto own = theirs("out_proj.lora_A.weight");
  EXPECT_TRUE(std::equal(own.begin(), own.end(), a.begin()));
  for (std::size_t i = own.size(); i < a.size(); ++i) {
    EXPECT_NE(a[i], 0);
    EXPECT_LE(std::abs(a[i]), 1 / std::sqrt(12.0f));
  }
  const auto column = theirs("out_proj.lora_B.weight");
  for (std::size_t row = 0; row < 12; ++row) {
    EXPECT_EQ(b[3 * row], column[row]);
    EXPECT_EQ(b[3 * row + 1], 0);
    EXPECT_EQ(b[3 * row + 2], 0);
  }
}

TEST_F(Stack, TakesWholeModulesAndTrainsThem) {
  Tensors tensors = {{"lm_head.weight", {9, 12}}, {"lm_head.bias", {9}}};
  add(tensors, "q_proj", 2);
  const Checkpoint checkpoint = import(tensors, R"("r": 2, "modules_to_save": ["lm_head"])");
  EXPECT_EQ(lora_of(checkpoint).train, Strings{"output.*"});
  const test::FileTensor bias =
      test::tensors_of_file(adapter_ / kAdapterWeights).at("base_model.model.lm_head.bias");
  const auto ours = test::read_tensor(checkpoint, "output.bias");  // the blank, row 2, is label 0
  float blank = 0;
  std::memcpy(&blank, bias.bytes.data() + 2 * sizeof(float), sizeof(float));
  EXPECT_EQ(ours.front(), blank);
}

TEST(OurRows, FollowBlocksAndTheBlank) {
  const TheirTensor values = {
      .name = "v", .former = "", .shape = {2, 3}, .ours = "qkv", .first_row = 4, .rows = 2};
  EXPECT_EQ(our_rows(values, 1), (std::vector<std::int64_t>{4, 5}));
  const TheirTensor head = {
      .name = "head", .former = "", .shape = {4, 3}, .ours = "output", .rows = 4, .by_label = true};
  EXPECT_EQ(our_rows(head, 2), (std::vector<std::int64_t>{1, 2, 0, 3}));
}

}  // namespace
}  // namespace penstock::runtime
