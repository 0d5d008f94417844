#include "runtime/checkpoint/resume/corrections.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/flatten.h"
#include "configs/schema.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/families.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using Corrections = std::vector<Correction>;

TrainingState state_of(const configs::Config& config) {
  TrainingState state;
  state.step = 600;
  state.config = configs::flatten(config);
  return state;
}

/// A run at step 600, of the defaults, and the recipe that goes on with it.
struct AcceptedChanges : testing::Test {
  std::string refusal() const {
    return test::message_of<ConfigError>([&] { (void)accepted_changes(recipe, saved); });
  }
  bool refused(const std::string& part) const { return refusal().find(part) != std::string::npos; }

  configs::Config recipe = configs::default_config(layers::model_families());
  TrainingState saved = state_of(recipe);
};

TEST_F(AcceptedChanges, AreNoneOfTheSameRecipe) {
  EXPECT_EQ(accepted_changes(recipe, saved), Corrections{});
  recipe.trainer.steps = 5;
  recipe.trainer.accept = {"optimizer.clip_norm"};
  EXPECT_EQ(accepted_changes(recipe, saved), Corrections{});
}

TEST_F(AcceptedChanges, NameTheLineThatAcceptsThem) {
  recipe.optimizer.clip_norm = 10;
  recipe.optimizer.learning_rate = 0.5;
  recipe.trainer.accept = {"trainer.seed", "optimizer.clip_norm"};
  EXPECT_TRUE(refused("\n  optimizer.learning_rate: was 3e-04, is now 0.5\nSet")) << refusal();
  EXPECT_FALSE(refused("clip_norm: was")) << refusal();
  EXPECT_TRUE(
      refusal().ends_with("\n  trainer.accept = [\"trainer.seed\", \"optimizer.clip_norm\", "
                          "\"optimizer.learning_rate\"]"))
      << refusal();
  recipe.trainer.accept.emplace_back("optimizer.learning_rate");
  EXPECT_EQ(accepted_changes(recipe, saved),
            (Corrections{{600, "optimizer.learning_rate", "3e-04", "0.5"},
                         {600, "optimizer.clip_norm", "400", "10"}}));
}

TEST_F(AcceptedChanges, NeverChangeWhatTensorsAreOf) {
  recipe.model.family.as<layers::DeepSpeech2Options>().hidden = 9;
  recipe.text.alphabet = "abc";
  recipe.optimizer.state = "bf16";
  recipe.optimizer.clip_norm = 10;
  recipe.trainer.accept = {"model.hidden", "text.alphabet", "optimizer.state"};
  EXPECT_TRUE(
      refused("\n  trainer.accept = [\"model.hidden\", \"text.alphabet\", "
              "\"optimizer.state\", \"optimizer.clip_norm\"]\nno run can change these keys"))
      << refusal();
  EXPECT_TRUE(
      refused("\n  model.hidden: was 256, is now 9 (the checkpoint's weights are of that "
              "model)\n  text.alphabet: was '"))
      << refusal();
  EXPECT_TRUE(refused("is now abc (the checkpoint's head has a row for each of its labels)"));
  EXPECT_TRUE(refused("is now bf16 (the checkpoint's optimizer state is of that kind)"));
}

TEST_F(AcceptedChanges, HoldTheOrderThatIsLeft) {
  recipe.data.micro_batches = 2;
  recipe.trainer.order = {1, 0};
  saved = state_of(recipe);
  recipe.trainer.order = {0, 1};
  recipe.trainer.accept = {"trainer.order"};
  EXPECT_EQ(accepted_changes(recipe, saved),
            (Corrections{{600, "trainer.order", "[1, 0]", "[0, 1]"}}));
  // There is no such order of three.
  recipe.trainer.order = {};
  recipe.data.micro_batches = 3;
  recipe.trainer.accept = {"data.micro_batches"};
  EXPECT_EQ(accepted_changes(recipe, saved), (Corrections{{600, "data.micro_batches", "2", "3"},
                                                          {600, "trainer.order", "[1, 0]", "[]"}}));
}

TEST(CorpusChanges, NeedTheirKeyOrOneThatMakesThem) {
  configs::Config recipe = configs::default_config(layers::model_families());
  recipe.data.train = {{"old.jsonl"}};
  TrainingState saved = state_of(recipe);
  saved.corpus_hash = "12";
  recipe.data.train = {{"new.jsonl", 3}};  // alone, whatever its weight
  EXPECT_EQ(corpus_changes(recipe, saved, "12", {}), Corrections{});
  const std::string refused =
      test::message_of<ConfigError>([&] { (void)corpus_changes(recipe, saved, "34", {}); });
  EXPECT_NE(refused.find("(index 34, was 12)"), std::string::npos) << refused;
  EXPECT_TRUE(refused.ends_with("\n  trainer.accept = [\"data.train\"]")) << refused;
  const Corrections one_more = {{600, "data.train", "old.jsonl (index 12)",
                                 "[{manifest = \"new.jsonl\", weight = 3}] (index 34)"}};
  EXPECT_EQ(corpus_changes(recipe, saved, "34", {{600, "data.max_seconds", "0", "9"}}), one_more);
  EXPECT_THROW((void)corpus_changes(recipe, saved, "34", {{600, "trainer.seed", "1", "2"}}),
               ConfigError);
  recipe.trainer.accept = {"data.train"};
  EXPECT_EQ(corpus_changes(recipe, saved, "34", {}), one_more);
}

TEST(SoundChanges, NeedTheirKey) {
  configs::Config recipe = configs::default_config(layers::model_families());
  recipe.augment.noise = "old.jsonl";
  TrainingState saved = state_of(recipe);
  saved.sound_hashes = {{"augment.noise", "12"}};
  recipe.augment.noise = "moved.jsonl";
  EXPECT_EQ(sound_changes(recipe, saved, {{"augment.noise", "12"}}), Corrections{});
  const std::string refused = test::message_of<ConfigError>([&] {
    (void)sound_changes(recipe, saved, {{"augment.noise", "34"}});
  });
  EXPECT_NE(refused.find("was saved: augment.noise (index 34, was index 12)."), std::string::npos)
      << refused;
  EXPECT_TRUE(refused.ends_with("\n  trainer.accept = [\"augment.noise\"]")) << refused;
  recipe.augment.noise.clear();
  recipe.augment.rooms = "rooms";
  recipe.trainer.accept = {"augment.noise"};
  EXPECT_THROW((void)sound_changes(recipe, saved, {{"augment.rooms", "5"}}), ConfigError);
  recipe.trainer.accept.clear();
  const std::string both = test::message_of<ConfigError>([&] {
    (void)sound_changes(recipe, saved, {{"augment.rooms", "5"}});
  });
  EXPECT_TRUE(both.ends_with("\n  trainer.accept = [\"augment.rooms\", \"augment.noise\"]"))
      << both;
  recipe.trainer.accept = {"augment.noise", "augment.rooms"};
  EXPECT_EQ(sound_changes(recipe, saved, {{"augment.rooms", "5"}}),
            (Corrections{{600, "augment.rooms", "\"\" (none)", "\"rooms\" (index 5)"},
                         {600, "augment.noise", "\"old.jsonl\" (index 12)", "\"\" (none)"}}));
}

TEST(CorpusChanges, MayBeOfWeightsAlone) {
  configs::Config recipe = configs::default_config(layers::model_families());
  recipe.data.train = {{"a.jsonl"}, {"b.jsonl", 2}};
  TrainingState saved = state_of(recipe);
  saved.corpus_hash = "12";
  recipe.data.train = {{"moved/a.jsonl"}, {"b.jsonl", 2}};
  EXPECT_EQ(corpus_changes(recipe, saved, "12", {}), Corrections{});
  recipe.data.train = {{"a.jsonl"}, {"b.jsonl", 3}};
  // A changed limit explains other utterances, but not other weights: data.train must be accepted
  // too.
  const std::string refused = test::message_of<ConfigError>([&] {
    (void)corpus_changes(recipe, saved, "12", {{600, "data.max_seconds", "0", "9"}});
  });
  EXPECT_NE(refused.find("\n  was [\"a.jsonl\", {manifest = \"b.jsonl\", weight = 2}]\n  is now ["),
            std::string::npos)
      << refused;
  EXPECT_TRUE(refused.ends_with("\n  trainer.accept = [\"data.train\"]")) << refused;
  recipe.trainer.accept = {"data.train"};
  const Corrections changes = corpus_changes(recipe, saved, "12", {});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(data_origin(saved, changes), (DataOrigin{saved.step, saved.epoch}));
}

TEST(DataOrigin, MovesWithChangesThatMakeOtherSteps) {
  TrainingState saved;
  saved.step = 600;
  saved.epoch = 4;
  saved.step_in_epoch = 3;
  saved.data_origin = {300, 2};
  const auto origin = [&](const char* key) { return data_origin(saved, {{600, key, "1", "2"}}); };
  EXPECT_EQ(data_origin(saved, {}), (DataOrigin{300, 2}));
  for (const char* key : {"optimizer.learning_rate", "model.dropout", "text.fold", "trainer.order"})
    EXPECT_EQ(origin(key), (DataOrigin{300, 2})) << key;
  for (const char* key : {"data.micro_batch_seconds", "data.train", "data.temperature",
                          "features.hop_ms", "trainer.seed"})
    EXPECT_EQ(origin(key), (DataOrigin{600, 5})) << key;
  saved.step_in_epoch = 0;
  EXPECT_EQ(origin("data.speeds"), (DataOrigin{600, 4}));
}

TEST(DataOrigin, GoesOnWithinAnEpochWithOtherSteps) {
  TrainingState saved;
  saved.step = 600;
  saved.epoch = 4;
  saved.step_in_epoch = 3;
  const Correction number{600, "data.micro_batches", "7", "5"};
  EXPECT_EQ(data_origin(saved, {number}), (DataOrigin{600, 4, 21}));
  EXPECT_EQ(data_origin(saved, {number, {600, "data.speeds", "[1]", "[2]"}}), (DataOrigin{600, 5}));
  saved.data_origin = {590, 4, 10};  // the number had changed in this epoch before
  EXPECT_EQ(data_origin(saved, {number}), (DataOrigin{600, 4, 31}));
  saved.step_in_epoch = 0;
  EXPECT_EQ(data_origin(saved, {number}), (DataOrigin{600, 4, 10}));
  EXPECT_EQ(data_origin(saved, {{600, "data.speeds", "[1]", "[2]"}}), (DataOrigin{600, 5}));
  saved.epoch = 5;
  EXPECT_EQ(data_origin(saved, {number}), (DataOrigin{600, 5}));
}

/// A run whose step of 120 s was divided for one number of replicas, on another.
struct KeepDivision : testing::Test {
  KeepDivision() {
    recipe.data.batch_seconds = 120;
    recipe.data.micro_batches = 4;  // as a recipe without both keys has it on at most four lanes
    recipe.data.micro_batch_seconds = 30;
    configs::Config before = recipe;
    before.data.micro_batches = 6;
    before.data.micro_batch_seconds = 20;
    saved = state_of(before);
    saved.lanes = 1;
  }
  /// Micro-batches that the run then has.
  int kept() {
    told.clear();
    configs::Config config = recipe;
    keep_division(config, saved, [&](const std::string& note) { told += note; });
    EXPECT_EQ(config.data.micro_batch_seconds * config.data.micro_batches, 120);
    return config.data.micro_batches;
  }

  configs::Config recipe = configs::default_config(layers::model_families());
  TrainingState saved;
  std::string told;
};

TEST_F(KeepDivision, HoldsTheSavedMicroBatches) {
  EXPECT_EQ(kept(), 6);
  EXPECT_NE(told.find("into 6 micro-batches of 20 s: a new run would have 4 of 30 s"),
            std::string::npos)
      << told;
  recipe.pipeline.replicas = 3;
  EXPECT_EQ(kept(), 6);
}

TEST_F(KeepDivision, LeavesWhatTheRecipeDivides) {
  recipe.data.micro_batches = 8;
  recipe.data.micro_batch_seconds = 15;
  EXPECT_EQ(kept(), 8);
  recipe.data.micro_batches = 4;
  recipe.data.micro_batch_seconds = 30;
  for (const char* key : {"data.micro_batches", "data.micro_batch_seconds"}) {
    recipe.trainer.accept = {key};
    EXPECT_EQ(kept(), 4) << key;
  }
  EXPECT_EQ(told, "");
}

TEST_F(KeepDivision, LeavesAnotherStepAndMoreLanes) {
  saved.config["data.micro_batch_seconds"] = "25";
  EXPECT_EQ(kept(), 4);
  saved.config["data.micro_batch_seconds"] = "20";
  recipe.pipeline.replicas = 7;  // of which a recipe makes as many micro-batches
  recipe.data.micro_batches = 7;
  recipe.data.micro_batch_seconds = 120.0 / 7;
  told.clear();
  keep_division(recipe, saved, [&](const std::string& note) { told += note; });
  EXPECT_EQ(recipe.data.micro_batches, 7);
  EXPECT_EQ(told, "");
}

}  // namespace
}  // namespace penstock::runtime
