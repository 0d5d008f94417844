#include "runtime/profiling/measure_profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/quantities.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"
#include "runtime/planning/planning.h"
#include "runtime/profiling/profiling_run.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class MeasureProfile : public testing::Test {
 protected:
  MeasureProfile() { test::write_tone_corpus(folder_.path() / "train.jsonl", 13, 1); }

  configs::Config recipe(std::vector<std::string> overrides = {}) const {
    return configs::parse_config(
        test::tone_recipe(folder_.path() / "train.jsonl", "", folder_.path() / "output"),
        "recipe.toml", layers::model_families(), overrides);
  }

  test::TemporaryFolder folder_;
};

TEST_F(MeasureProfile, AllRanksGetTheSameFits) {
  const configs::Config config = recipe({"pipeline.stages=2"});
  std::vector<std::string> texts(2);
  comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
    const ProfilingData data = load_profiling_data(config, world);
    const partition::DeviceProfile profile =
        measure_profile(data, world, {.micro_batches = 3, .repeats = 2});
    EXPECT_EQ(profile.ranks, 2);
    EXPECT_GT(profile.parameter_s, 0);
    EXPECT_GT(profile.reading.of(profile.middling), 0);
    ASSERT_EQ(profile.layers.size(), data.sequence.layers.size());
    const std::vector<layers::LayerPlan> plans =
        partition::plan_layers(data.sequence, profile.middling.frames, backend_sizes(config));
    for (std::size_t i = 0; i < profile.layers.size(); ++i) {
      EXPECT_EQ(profile.layers[i].layer, data.sequence.layers[i]->name());
      EXPECT_GT(profile.layers[i].forward.of(profile.middling), 0);
      // Gradients of inputs are made by all layers, of weights by those that have some.
      EXPECT_GT(profile.layers[i].backward_input.of(profile.middling), 0) << i;
      const double weights = profile.layers[i].backward_weight.of(profile.middling);
      EXPECT_EQ(weights > 0, !plans[i].params.empty()) << i;
    }
    const partition::SequenceProfile neutral =
        neutral_profile(profile, data.sequence, backend_sizes(config));
    texts[world.rank()] = partition::device_profile_json(profile, neutral);
  });
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(partition::parse_device_profile(texts[0], "p").layers.size(),
            partition::parse_profile(texts[0], "p").layers.size());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "output"));
}

TEST_F(MeasureProfile, OfLargeModelsHasEachKindOnce) {
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    const std::vector<std::string> deep{"model.layers=5", "model.hidden=48"};
    const ProfilingData whole = load_profiling_data(recipe(deep), world);
    const ProfilingData two =
        load_profiling_data(recipe({"model.layers=2", "model.hidden=48"}), world);
    const auto gib_of = [](const ProfilingData& data) {
      return static_cast<double>(plan_run(data.sequence, data.config, data.shape,
                                          computed_costs(data.sequence, data.config, data.shape))
                                     .bytes_of(0)
                                     .total()) /
             kGib;
    };
    const double limit = (gib_of(whole) + gib_of(two)) / 2;
    const ProfilingData limited = load_profiling_data(
        recipe({deep[0], deep[1], fmt::format("pipeline.memory_gib={:f}", limit)}), world);
    const partition::DeviceProfile profile =
        measure_profile(limited, world, {.micro_batches = 2, .repeats = 1});
    EXPECT_TRUE(profile.device.ends_with(", each kind of layer once")) << profile.device;
    ASSERT_EQ(profile.layers.size(), whole.sequence.layers.size());
    const auto of = [&](const std::string& name) {
      return std::ranges::find(profile.layers, name, &partition::FittedLayer::layer)->forward;
    };
    for (std::size_t i = 0; i < profile.layers.size(); ++i)
      EXPECT_EQ(profile.layers[i].layer, whole.sequence.layers[i]->name());
    EXPECT_EQ(of("rnn5").seconds, of("rnn3").seconds) << "of one kind";
    EXPECT_EQ(profile.model, partition::model_summary(whole.config.model, whole.labels));
  });
}

TEST_F(MeasureProfile, ProfiledStepsHaveEveryActionOfTheSchedule) {
  const configs::Config config = recipe({"pipeline.stages=2", "trainer.lanes=1"});
  comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
    const ProfilingData data = load_profiling_data(config, world);
    const partition::Plan plan = plan_run(data.sequence, data.config, data.shape,
                                          computed_costs(data.sequence, data.config, data.shape));
    ProfilingRun profiling(data, data.config, plan, world);
    const std::vector<StepBatches> batches{data.steps.at(0), data.steps.at(1)};
    const auto steps = profiling.run(batches);
    ASSERT_EQ(steps.size(), 2u);
    double before = steps[0].start;  // the ranks' common zero is an estimate
    for (std::size_t s = 0; s < 2; ++s) {
      std::size_t forwards = 0;
      for (const WatchedAction& action : steps[s].actions) {
        EXPECT_GE(action.start, before);
        EXPECT_GE(action.end, action.start);
        EXPECT_LE(action.computing, action.end - action.start);
        before = action.end;
        if (action.action.kind == partition::ActionKind::forward) {
          ++forwards;
          EXPECT_GT(action.computing, 0);
        }
      }
      EXPECT_EQ(forwards, batches[s].micro_batches.size());
      EXPECT_EQ(steps[s].actions.back().action.kind, partition::ActionKind::step);
      EXPECT_LE(steps[s].actions.back().end, steps[s].end);
    }
  });
}

}  // namespace
}  // namespace penstock::runtime
