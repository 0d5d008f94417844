#include "configs/schema.h"

#include <gtest/gtest.h>

#include <set>

#include "configs/value.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/families.h"

namespace penstock::configs {
namespace {

struct Anything {
  template <class T>
  operator T() const;  // NOLINT: converts to whatever an aggregate holds
};

/// How many members an aggregate has.
template <class T, class... Members>
consteval std::size_t members() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return members<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

TEST(Schema, NamesEveryMemberOfConfigOnce) {
  Config config;  // of no family
  std::set<std::string_view> names;
  std::set<const void*> places;
  for (const Key& key : keys(config)) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    const void* place = std::visit([](auto* value) -> const void* { return value; }, key.value);
    EXPECT_TRUE(places.insert(place).second) << key.name;
    EXPECT_FALSE(key.help.empty()) << key.name;
  }
  EXPECT_EQ(members<Config>(), 10u);
  const std::size_t model =  // with two sections within
      members<ModelConfig>() - 2 + members<layers::DecoderOptions>() + members<LoraConfig>();
  EXPECT_EQ(names.size(),
            model + members<TextConfig>() + members<FeatureConfig>() + members<AugmentConfig>() +
                members<DataConfig>() + members<OptimizerConfig>() + members<LrScheduleConfig>() +
                members<PrecisionConfig>() + members<PipelineConfig>() + members<TrainerConfig>());
}

TEST(Schema, NamesEveryOptionOfAFamily) {
  layers::ModelFamily family = layers::DeepSpeech2Options();
  EXPECT_EQ(family.keys().size(), members<layers::DeepSpeech2Options>());
}

TEST(Schema, DefaultsAreAllowed) {
  const Config defaults = default_config(layers::model_families());
  Config config = defaults;
  for (const Key& key : keys(config)) {
    EXPECT_EQ(set_value(key, value_text(key.value)), std::nullopt);
  }
  EXPECT_EQ(config, defaults);
}

// A size beyond reason would end as an error of memory that names no key.
TEST(Schema, BoundsEverySize) {
  Config config = default_config(layers::model_families());
  for (const Key& key : keys(config)) {
    if (std::holds_alternative<int*>(key.value)) {
      EXPECT_LE(key.allowed.range.high, 1 << 20) << key.name;
    }
  }
}

TEST(Schema, KnowsWhatAResumedRunKeeps) {
  Config config = default_config(layers::model_families());
  const auto expect = [&](OnResume wanted, std::initializer_list<const char*> names) {
    for (const char* name : names) EXPECT_EQ(on_resume(*find_key(config, name)), wanted) << name;
  };
  expect(OnResume::fixed, {"model.kind", "model.hidden", "model.classes", "text.kind",
                           "text.alphabet", "optimizer.kind", "optimizer.state"});
  expect(OnResume::accepted,
         {"model.dropout", "text.fold", "features.window", "data.speeds", "data.micro_batches",
          "data.temperature", "optimizer.learning_rate", "optimizer.freeze", "lr_schedule.kind",
          "precision.compute", "trainer.seed", "decoder.suppress", "decoder.begin_suppress"});
  expect(OnResume::free,
         {"augment.noise", "augment.rooms", "trainer.steps", "trainer.accept", "pipeline.stages",
          "data.validation", "data.batch_seconds", "data.loaders", "text.model"});
}

// Every family's keys of dropping and of what attention sees act beside the weights.
TEST(Schema, LetsNoFamilyChangeItsWeights) {
  std::set<std::string_view> accepted;
  for (layers::ModelFamily family : layers::model_families())
    for (const Key& key : family.keys())
      if (on_resume(key) == OnResume::accepted) accepted.insert(key.name);
  EXPECT_EQ(accepted,
            (std::set<std::string_view>{
                "model.dropout", "model.dropouts", "model.input_dropout", "model.output_dropout",
                "model.layer_drop", "model.left_context", "model.right_context",
                "model.apply_spec_augment", "model.mask_time_length", "model.mask_time_min_masks",
                "model.mask_feature_length", "model.mask_feature_min_masks",
                "model.intermediate_ctc_weight"}));
}

TEST(Value, RejectsWhatTheKeyDoesNotTake) {
  Config config = default_config(layers::model_families());
  const auto fault = [&](const char* key, const char* text) {
    return set_value(*find_key(config, key), text).value_or("accepted");
  };
  EXPECT_EQ(fault("trainer.steps", "0"),
            "trainer.steps = 0, but it takes a whole number of at least 1");
  EXPECT_EQ(fault("trainer.steps", "1e3"),
            "trainer.steps = 1e3, but it takes a whole number of at least 1");
  EXPECT_EQ(fault("model.layers", "99999999999"),
            "model.layers = 99999999999, but it takes a whole number from 1 to 1000");
  EXPECT_EQ(fault("optimizer.learning_rate", "nan"),
            "optimizer.learning_rate = nan, but it takes a number above 0");
  EXPECT_EQ(fault("model.dropout", "1"), "model.dropout = 1, but it takes a number from 0 to 0.95");
  EXPECT_EQ(
      fault("pipeline.schedule", "zb"),
      "pipeline.schedule = zb, but it takes one of gpipe, 1f1b, interleaved, interleaved-3, "
      "interleaved-4, zb-h1, zb-h2, zb-v, v-half, v-min, dualpipe-v, found, interleaved-*, *.csv");
  EXPECT_NE(fault("pipeline.schedule", ".csv"), "accepted");
  EXPECT_NE(fault("pipeline.schedule", "lists.csv2"), "accepted");
  EXPECT_NE(fault("pipeline.schedule", "interleaved-"), "accepted");
  EXPECT_TRUE(fault("pipeline.schedule", "zbh1").ends_with("*.csv; did you mean zb-h1?"));
  EXPECT_EQ(fault("model.kind", "conformer"),
            "model.kind = conformer, but it takes \"deepspeech2\"");
  EXPECT_EQ(fault("data.speeds", "[1, 9]"),
            "data.speeds = [1, 9], but it takes a list of numbers from 0.5 to 2, such as [0.9, 1]");
  EXPECT_EQ(fault("trainer.output", ""), "trainer.output = , but it takes text that is not empty");
  EXPECT_EQ(fault("data.validation", "\xe9.jsonl"),
            "data.validation = \xe9.jsonl, which is not UTF-8: checkpoints can't hold it");
  EXPECT_NE(fault("data.speeds", "[]"), "accepted");
  EXPECT_NE(fault("data.speeds", "1, 1"), "accepted");
  for (const char* text : {"norm1", "[norm1 relu1]", "[norm1,, relu1]", "[\"norm1]"})
    EXPECT_EQ(fault("pipeline.recompute_layers", text),
              std::string("pipeline.recompute_layers = ") + text +
                  ", but it takes a list of names, such as [\"norm1\", \"relu1\"]");
  EXPECT_NE(fault("trainer.resume", "yes"), "accepted");
  EXPECT_NE(fault("trainer.seed", "-1"), "accepted");
  EXPECT_EQ(config, default_config(layers::model_families()));
}

TEST(Value, MayBeAnyTextOfABeginning) {
  Config config = default_config(layers::model_families());
  EXPECT_EQ(set_value(*find_key(config, "pipeline.schedule"), "interleaved-6"), std::nullopt);
  EXPECT_EQ(config.pipeline.schedule, "interleaved-6");
}

TEST(Value, MayBeAnyTextOfAnEnding) {
  Config config = default_config(layers::model_families());
  EXPECT_EQ(set_value(*find_key(config, "pipeline.schedule"), "outputs/lists.csv"), std::nullopt);
  EXPECT_EQ(config.pipeline.schedule, "outputs/lists.csv");
}

TEST(Value, TextKeepsEveryBit) {
  Config config;
  for (double value : {0.1, 1e-300, 3.0, 1.0 / 3, 123456789.123456789}) {
    config.optimizer.weight_decay = value;
    const std::string text = value_text(&config.optimizer.weight_decay);
    config.optimizer.weight_decay = 0;
    EXPECT_EQ(set_value(*find_key(config, "optimizer.weight_decay"), text), std::nullopt);
    EXPECT_EQ(config.optimizer.weight_decay, value) << text;
  }
}

}  // namespace
}  // namespace penstock::configs
