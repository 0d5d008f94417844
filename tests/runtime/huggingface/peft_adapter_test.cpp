#include "runtime/huggingface/peft_adapter.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "tests/support/runtime/adapter_folder.h"
#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using Tensors = std::map<std::string, layers::Shape>;

Architecture adapted_example() {
  Architecture architecture;
  architecture.name = "ExampleForCTC";
  architecture.tensors = {
      {"2",
       {{"layers.{}.q_proj", "block{}.qkv", Rows::queries},
        {"layers.{}.k_proj", "block{}.qkv", Rows::keys},
        {"layers.{}.v_proj", "block{}.qkv", Rows::values},
        {"layers.{}.positions", "block{}.positions"},
        {"layers.{}.norm", "block{}.norm"}}},
      {"1", {{.theirs = "head", .ours = "output", .rows = Rows::labels, .axes = Axes::one_last}}}};
  return architecture;
}

const ModelTensors kOurs = {
    {"block1.qkv.weight", {9, 4}},       {"block2.qkv.weight", {9, 4}},
    {"block1.positions.weight", {4, 4}}, {"block2.positions.weight", {4, 4}},
    {"block1.norm.weight", {4}},         {"block2.norm.weight", {4}},
    {"output.weight", {5, 4}},           {"output.bias", {5}}};
const LinearLayers kLinear = {"block1.qkv", "block2.qkv", "output"};

class Adapters : public testing::Test {
 protected:
  /// The factors of q in both layers, as kQueriesConfig has them.
  static Tensors queries() {
    return {{"layers.0.q_proj.lora_A.weight", {2, 4}},
            {"layers.0.q_proj.lora_B.weight", {3, 2}},
            {"layers.1.q_proj.lora_A.weight", {2, 4}},
            {"layers.1.q_proj.lora_B.weight", {3, 2}}};
  }

  PeftAdapter adapter(const Tensors& tensors, std::string_view config = test::kQueriesConfig) {
    test::write_adapter(folder_.path(), config, tensors);
    return PeftAdapter(folder_.path());
  }

  void expect_fault(const Tensors& tensors, std::string_view part,
                    std::string_view config = test::kQueriesConfig) {
    const Architecture architecture = adapted_example();
    const std::string message = test::message_of<CheckpointError>([&] {
      adapter(tensors, config)
          .check_base(architecture, pair_tensors(architecture, {}, kOurs), kLinear);
    });
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Adapters, KnowTheirModulesAndWholeTensors) {
  Tensors tensors = queries();
  tensors["head.weight"] = {5, 4, 1};
  tensors["head.bias"] = {5};
  const PeftAdapter read = adapter(tensors);
  const Architecture architecture = adapted_example();
  read.check_base(architecture, pair_tensors(architecture, {}, kOurs), kLinear);
  EXPECT_EQ(read.modules().size(), 2u);
  const AdaptedModule& module = read.modules().at("layers.1.q_proj");
  EXPECT_EQ(module.rank, 2);
  EXPECT_EQ(module.scale, 1.5);
  EXPECT_EQ(read.saved().at("head.bias"), "base_model.model.head.bias");
  std::array<float, 4> whole = {};
  std::array<float, 2> part = {};
  read.reader()(module.a, 0, whole);
  read.reader()(module.a, 2, part);
  EXPECT_EQ(part, (std::array<float, 2>{whole[2], whole[3]}));
}

TEST_F(Adapters, HaveAxesOfConvolutions) {
  Tensors tensors = {{"head.lora_A.weight", {2, 4, 1}}, {"head.lora_B.weight", {5, 2, 1}}};
  constexpr std::string_view kHead = R"({"peft_type": "LORA", "r": 2, "target_modules": ["head"]})";
  const Architecture architecture = adapted_example();
  adapter(tensors, kHead).check_base(architecture, pair_tensors(architecture, {}, kOurs), kLinear);
  tensors["head.lora_B.weight"] = {5, 2};
  expect_fault(tensors, "head.lora_B.weight is [5, 2], expected [5, 2, 1]", kHead);
}

TEST_F(Adapters, OfOtherModulesAreRefused) {
  Tensors tensors = queries();
  tensors["layers.7.q_proj.lora_A.weight"] = {2, 4};
  expect_fault(tensors, "it adapts layers.7.q_proj, which no such model has");
  tensors = queries();
  tensors["layers.0.positions.lora_A.weight"] = {2, 4};
  tensors["layers.0.positions.lora_B.weight"] = {4, 2};
  expect_fault(tensors,
               "it adapts layers.0.positions, but penstock adapts linear layers alone, "
               "such as head, layers.0.k_proj");
  const Architecture architecture = adapted_example();
  const Pairing pairing = pair_tensors(architecture, {}, kOurs);
  adapter(tensors).check_base(architecture, pairing, layers_with_matrix(pairing));
}

TEST_F(Adapters, MustBeComplete) {
  Tensors tensors = queries();
  tensors.erase("layers.1.q_proj.lora_B.weight");
  expect_fault(tensors, "it lacks layers.1.q_proj.lora_B.weight");
  tensors.erase("layers.1.q_proj.lora_A.weight");
  expect_fault(tensors,
               "it lacks layers.1.q_proj.lora_A.weight and .lora_B.weight, though "
               "target_modules names the module");
  expect_fault(queries(), "it lacks the tensors of head, though modules_to_save names the module",
               R"({"peft_type": "LORA", "r": 2, "target_modules": ["q_proj"],
                   "modules_to_save": ["head"]})");
}

TEST_F(Adapters, MustHaveTheirRanksAndShapes) {
  Tensors tensors = queries();
  tensors["layers.0.q_proj.lora_A.weight"] = {3, 4};
  expect_fault(tensors, "layers.0.q_proj.lora_A.weight is [3, 4], expected [2, 4], with rank 2");
  tensors = queries();
  tensors["head.weight"] = {6, 4, 1};
  expect_fault(tensors, "head.weight is [6, 4, 1], expected [5, 4, 1]");
  tensors = queries();
  tensors["layers.0.other"] = {4};
  expect_fault(tensors, "it has base_model.model.layers.0.other, which no such model has");
}

TEST_F(Adapters, OfAnotherClassAreRefused) {
  expect_fault(queries(),
               "its base is a Wav2Vec2Model, by auto_mapping of adapter_config.json, but "
               "this base is a ExampleForCTC",
               R"({"peft_type": "LORA", "r": 2, "target_modules": ["q_proj"],
                   "auto_mapping": {"base_model_class": "Wav2Vec2Model"}})");
}

TEST_F(Adapters, OfOtherFormsAreRefused) {
  const auto fault = [&](const Tensors& tensors) {
    return test::message_of<CheckpointError>([&] { (void)adapter(tensors); });
  };
  EXPECT_NE(fault({{"layers.0.q_proj.lora_magnitude_vector", {3}}}).find("is no factor"),
            std::string::npos);
  EXPECT_NE(fault({{"head.weight", {5, 4, 1}}}).find("no lora_A.weight of any module"),
            std::string::npos);
  std::filesystem::remove(folder_.path() / kAdapterWeights);
  EXPECT_THROW(PeftAdapter{folder_.path()}, CheckpointError);
  test::write_file(folder_.path() / "adapter_model.bin", "");
  EXPECT_NE(test::message_of<CheckpointError>([&] {
              PeftAdapter{folder_.path()};
            }).find("as PyTorch pickles it"),
            std::string::npos);
}

TEST_F(Adapters, WithOtherNamesAreRefused) {
  (void)adapter(queries());
  test::change_tensors(folder_.path() / kAdapterWeights, [](test::FileTensors& tensors) {
    tensors["head.bias"] = tensors.begin()->second;
  });
  EXPECT_NE(test::message_of<CheckpointError>([&] {
              PeftAdapter{folder_.path()};
            }).find("begin with base_model.model."),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
