#include "runtime/huggingface/peft_config.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class Peft : public testing::Test {
 protected:
  PeftConfig read(std::string_view json) {
    test::write_file(file_, json);
    return read_peft_config(file_);
  }
  /// Fails unless these settings beside "peft_type" are refused with all of `parts`.
  void expect_faults(const std::string& settings, const std::vector<std::string>& parts) {
    const std::string message = test::message_of<CheckpointError>(
        [&] { (void)read(R"({"peft_type": "LORA", )" + settings + "}"); });
    for (const std::string& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  }

  test::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / kAdapterConfig;
};

TEST_F(Peft, TakesDefaultsForWhatIsMissing) {
  const PeftConfig config =
      read(R"({"peft_type": "LORA", "target_modules": ["q_proj", "v_proj"]})");
  EXPECT_EQ(config.rank, 8);
  EXPECT_EQ(config.alpha, 8);
  EXPECT_EQ(config.targets, (std::vector<std::string>{"q_proj", "v_proj"}));
  EXPECT_EQ(scale_of(config, "layers.0.q_proj"), 1);
}

TEST_F(Peft, FindsRanksAndAlphasOfModules) {
  const PeftConfig config = read(R"({"peft_type": "LORA", "r": 4, "lora_alpha": 6,
      "rank_pattern": {"1.q_proj": 2, "^v_proj": 3}, "alpha_pattern": {"layers.1.q_proj": 5}})");
  EXPECT_EQ(rank_of(config, "layers.1.q_proj"), 2);
  EXPECT_EQ(scale_of(config, "layers.1.q_proj"), 2.5);
  EXPECT_EQ(rank_of(config, "layers.11.q_proj"), 4);
  EXPECT_EQ(scale_of(config, "layers.11.q_proj"), 1.5);
  EXPECT_EQ(rank_of(config, "v_proj"), 3);
  EXPECT_EQ(rank_of(config, "layers.0.v_proj"), 4);
}

TEST_F(Peft, DividesByTheRootOfStabilisedRanks) {
  const PeftConfig config = read(R"({"peft_type": "LORA", "r": 5, "lora_alpha": 6,
                                     "use_rslora": true})");
  EXPECT_EQ(scale_of(config, "q_proj"), 6 / std::sqrt(5.0));
}

TEST_F(Peft, MatchesEndsOfNamesAtDots) {
  EXPECT_TRUE(matches_module("q_proj", "q_proj"));
  EXPECT_TRUE(matches_module("q_proj", "a.q_proj"));
  EXPECT_FALSE(matches_module("q_proj", "a.xq_proj"));
  EXPECT_FALSE(matches_module("a.q_proj", "q_proj"));
  EXPECT_FALSE(matches_module("^q_proj", "a.q_proj"));
  EXPECT_TRUE(matches_module("^a.q", "a.q"));
  EXPECT_TRUE(matches_module("a.q", "axq"));
  EXPECT_FALSE(matches_module("a\\.q", "axq"));
  EXPECT_TRUE(matches_module("a\\.q", "b.a.q"));
}

TEST_F(Peft, LeavesTargetsOpenThatAreChosenFurther) {
  for (const char* more : {R"("layers_to_transform": 0)", R"("exclude_modules": ["a"])"})
    EXPECT_TRUE(
        read(std::string(R"({"peft_type": "LORA", "target_modules": ["q_proj"], )") + more + "}")
            .targets.empty());
  EXPECT_TRUE(read(R"({"peft_type": "LORA", "target_modules": ".*(q|v)_proj"})").targets.empty());
}

TEST_F(Peft, RefusesWhatChangesTheBaseAllAtOnce) {
  expect_faults(R"("use_dora": true, "bias": "all", "lora_bias": true,
                   "init_lora_weights": "pissa", "a_new_variant": {"x": 1})",
                {"use_dora is true", "bias is \"all\"", "lora_bias is true",
                 "init_lora_weights is \"pissa\"", "a_new_variant is {\"x\":1}"});
  EXPECT_EQ(read(R"({"peft_type": "LORA", "use_dora": false, "a_new_variant": null,
                     "another": {}, "init_lora_weights": "gaussian"})")
                .rank,
            8);
}

TEST_F(Peft, RefusesOtherKindsAndWrongValues) {
  EXPECT_NE(test::message_of<CheckpointError>([&] {
              (void)read(R"({"peft_type": "VERA"})");
            }).find("peft_type is \"VERA\""),
            std::string::npos);
  expect_faults(R"("r": 0)", {"r has 0"});
  expect_faults(R"("r": 2.5)", {"r has 2.5"});
  expect_faults(R"("lora_alpha": -1)", {"lora_alpha has -1"});
  expect_faults(R"("lora_dropout": 1)", {"lora_dropout is 1"});
  expect_faults(R"("rank_pattern": {"layers.(0|1).q": 2})", {"a regular expression"});
  expect_faults(R"("alpha_pattern": {"q": "2"})", {"alpha_pattern has \"2\""});
  expect_faults(R"("modules_to_save": 3)", {"can't be read as the settings of an adapter"});
  EXPECT_THROW((void)read("[]"), CheckpointError);
  EXPECT_THROW((void)read("{"), CheckpointError);
}

TEST_F(Peft, ReadsWhatItWrites) {
  const PeftConfig written = {.rank = 6,
                              .alpha = 4.5,
                              .dropout = 0.25,
                              .ranks = {{"a.q", 3}},
                              .alphas = {{"a.q", 2}},
                              .targets = {"q"},
                              .saved = {"lm_head"},
                              .base_class = "Wav2Vec2ForCTC",
                              .base_library = "transformers.models.wav2vec2.modeling_wav2vec2",
                              .base = "mine"};
  const std::string text = to_json_text(written);
  const PeftConfig config = read(text);
  EXPECT_EQ(to_json_text(config), text);
  EXPECT_EQ(config.ranks, written.ranks);
  EXPECT_NE(text.find("\"a.q\": 2\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace penstock::runtime
