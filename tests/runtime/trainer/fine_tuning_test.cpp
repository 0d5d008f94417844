#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/name_match.h"
#include "layers/models/conformer.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/runtime/training_job.h"

namespace penstock::runtime {
namespace {

using test::TrainingJob;
using test::TrainingOutcome;

using Patterns = std::vector<std::string>;

/// The front, whose backward then ends before the pipeline's first stages; layers with trained ones
/// before and after them; and parts of layers.
const std::vector<Patterns> kFrozen = {{"conv*", "norm?.*", "rnn1*"},
                                       {"conv2.*", "rnn1.weight*", "rnn1.input.*"},
                                       {"*.bias", "norm1*"}};

TrainingJob job() {
  TrainingJob job = test::small_job();
  job.steps = 4;
  job.lanes = 2;
  return job;
}

bool frozen(const Patterns& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const auto& p) { return matches_glob(p, name); });
}

/// Running statistics are no parameters.
bool is_state(const std::string& name) { return name.find("running") != std::string::npos; }

TEST(FineTuning, FrozenParametersStayAndOthersMove) {
  TrainingJob still = job();
  still.steps = 0;
  const TrainingOutcome start = train_on_noise(still);
  for (const Patterns& patterns : kFrozen)
    for (const char* kind : {"adamw", "sgd", "lamb", "novograd"}) {
      TrainingJob tuned = job();
      tuned.optimizer.kind = kind;
      tuned.optimizer.weight_decay = 0.1;
      tuned.optimizer.freeze = patterns;
      const TrainingOutcome after = train_on_noise(tuned);
      for (const auto& [name, values] : start.tensors) {
        if (name.find('#') != std::string::npos || is_state(name)) continue;
        EXPECT_EQ(after.tensors.at(name) == values, frozen(patterns, name)) << name << ", " << kind;
        EXPECT_EQ(after.tensors.contains(name + "#0"), !frozen(patterns, name)) << name;
      }
    }
}

TEST(FineTuning, RunningStatisticsOfFrozenLayersFollow) {
  TrainingJob tuned = job();
  tuned.optimizer.freeze = kFrozen[0];
  const TrainingOutcome after = train_on_noise(tuned);
  tuned.steps = 0;
  const TrainingOutcome start = train_on_noise(tuned);
  int states = 0;
  for (const auto& [name, values] : start.tensors) {
    if (!is_state(name)) continue;
    ++states;
    EXPECT_NE(after.tensors.at(name), values) << name;
  }
  EXPECT_GT(states, 0);
}

TEST(FineTuning, OthersMoveAsIfNothingWereFrozen) {
  TrainingJob all = job();
  all.steps = 1;
  all.optimizer.kind = "sgd";
  all.optimizer.clip_norm = 0;
  const TrainingOutcome whole = train_on_noise(all);
  for (const Patterns& patterns : kFrozen) {
    TrainingJob tuned = all;
    tuned.optimizer.freeze = patterns;
    const TrainingOutcome part = train_on_noise(tuned);
    EXPECT_EQ(part.losses, whole.losses);
    EXPECT_LT(part.norms.front(), whole.norms.front());
    EXPECT_GT(part.norms.front(), 0);
    for (const auto& [name, values] : part.tensors)
      if (!frozen(patterns, name)) {
        EXPECT_EQ(values, whole.tensors.at(name)) << name;
      }
  }
}

TEST(FineTuning, SchedulesChangeNoBit) {
  for (const Patterns& patterns : kFrozen)
    for (const std::string_view schedule : partition::all_schedule_names()) {
      TrainingJob tuned = job();
      tuned.optimizer.freeze = patterns;
      tuned.optimizer.learning_rates = {"output.*:10", "rnn?.*:0.1"};
      if (schedule == partition::kFound) tuned.order = {3, 0, 4, 1, 2};
      const TrainingOutcome alone = train_on_noise(tuned);
      tuned.schedule = schedule;
      for (const int stages : {2, 3}) {
        tuned.stages = stages;
        expect_equal(train_on_noise(tuned), alone,
                     fmt::format("{}, {} stages, {}", schedule, stages, patterns.front()));
      }
    }
}

TEST(FineTuning, ReplicasAndRecomputationChangeNoBit) {
  for (const Patterns& patterns : kFrozen)
    for (const char* compute : {"fp32", "bf16"}) {
      TrainingJob tuned = job();
      tuned.precision.compute = compute;
      tuned.optimizer.freeze = patterns;
      tuned.optimizer.learning_rates = {"*.weight:0.5"};
      const TrainingOutcome alone = train_on_noise(tuned);
      tuned.stages = 2;
      tuned.replicas = 2;
      for (const bool shard : {false, true})
        for (const bool recompute : {false, true}) {
          tuned.shard = shard;
          tuned.recompute = recompute;
          tuned.bucket_bytes = recompute ? 512 : 1 << 20;
          expect_equal(train_on_noise(tuned), alone,
                       fmt::format("{}, {}{}{}", patterns.front(), compute, shard ? ", shared" : "",
                                   recompute ? ", recomputed" : ""));
        }
    }
}

TEST(FineTuning, ResidualUnitsFreezeAlike) {
  for (const Patterns& patterns : {Patterns{"subsampling*", "block1*"}, Patterns{"block1*"}}) {
    TrainingJob tuned = job();
    tuned.model.family =
        layers::ConformerOptions{.width = 12, .heads = 3, .layers = 2, .kernel = 5, .dropout = 0.1};
    tuned.optimizer.freeze = patterns;
    const TrainingOutcome alone = train_on_noise(tuned);
    for (const char* schedule : {"1f1b", "zb-h1"})
      for (const int stages : {2, 3}) {
        tuned.schedule = schedule;
        tuned.stages = stages;
        expect_equal(train_on_noise(tuned), alone, fmt::format("{}, {} stages", schedule, stages));
      }
  }
}

/// Adapters of attention and feed-forward units, beside a trained head.
TrainingJob adapted_job() {
  TrainingJob adapted = job();
  adapted.model.family =
      layers::ConformerOptions{.width = 12, .heads = 3, .layers = 2, .kernel = 5, .dropout = 0.1};
  adapted.model.lora = {.rank = 3,
                        .alpha = 5,
                        .dropout = 0.2,
                        .targets = {"*.qkv", "*.linear1"},
                        .train = {"output.*"}};
  return adapted;
}

TEST(FineTuning, AdaptersAndWhatIsNamedMove) {
  TrainingJob adapted = adapted_job();
  adapted.steps = 0;
  const TrainingOutcome start = train_on_noise(adapted);
  for (const char* compute : {"fp32", "bf16"}) {
    adapted.steps = 4;
    adapted.precision.compute = compute;
    const TrainingOutcome after = train_on_noise(adapted);
    int moved = 0;
    for (const auto& [name, values] : start.tensors) {
      if (name.find('#') != std::string::npos || is_state(name)) continue;
      const bool trains = name.find(".lora_") != std::string::npos || name.starts_with("output.");
      EXPECT_EQ(after.tensors.contains(name + "#0"), trains) << name;
      if (trains) {
        EXPECT_NE(after.tensors.at(name), values) << name;
        ++moved;
      } else if (compute == std::string("fp32")) {
        EXPECT_EQ(after.tensors.at(name), values) << name;
      }
    }
    EXPECT_EQ(moved, 2 + 2 * 2 * (1 + 2));  // the head; A and B of qkv and of two linear1
  }
}

TEST(FineTuning, AdaptersChangeNoBitInAnyLayout) {
  for (const char* compute : {"fp32", "bf16"}) {
    TrainingJob adapted = adapted_job();
    adapted.precision.compute = compute;
    const TrainingOutcome alone = train_on_noise(adapted);
    for (const char* schedule : {"1f1b", "zb-h1", "zb-v"})
      for (const int stages : {2, 3}) {
        TrainingJob cut = adapted;
        cut.schedule = schedule;
        cut.stages = stages;
        expect_equal(train_on_noise(cut), alone,
                     fmt::format("{}, {}, {} stages", compute, schedule, stages));
      }
    TrainingJob shared = adapted;
    shared.stages = shared.replicas = 2;
    for (const bool shard : {false, true}) {
      shared.shard = shard;
      shared.selective = shard;
      shared.recompute = !shard;
      expect_equal(train_on_noise(shared), alone, fmt::format("{}, {} shared", compute, shard));
    }
  }
}

TEST(FineTuning, PostValidationRollsBackWhatMoves) {
  TrainingJob tuned = job();
  tuned.steps = 12;
  tuned.optimizer.freeze = kFrozen[0];
  tuned.optimizer.learning_rates = {"output.*:3"};
  tuned.optimizer.clip_norm = clip_behind_plain_steps(tuned);
  ASSERT_GT(tuned.optimizer.clip_norm, 0);
  const TrainingOutcome alone = train_on_noise(tuned);
  tuned.stages = 3;
  tuned.post_validation = true;
  const TrainingOutcome optimistic = train_on_noise(tuned);
  EXPECT_GT(optimistic.rolled_back, 0);
  expect_equal(optimistic, alone, "post-validation");
}

TEST(FineTuning, FactorsOfOneChangeNoBit) {
  for (const char* kind : {"adamw", "sgd", "lamb", "novograd"}) {
    TrainingJob tuned = job();
    tuned.optimizer.kind = kind;
    tuned.optimizer.larc = tuned.optimizer.kind == "sgd" ? 0.01 : 0;
    const TrainingOutcome plain = train_on_noise(tuned);
    tuned.optimizer.learning_rates = {"*:1"};
    expect_equal(train_on_noise(tuned), plain, kind);
  }
}

TEST(FineTuning, FactorsMultiplyTheLearningRateOfTheirParameters) {
  for (const char* kind : {"adamw", "sgd", "lamb", "novograd"}) {
    TrainingJob tuned = job();
    tuned.steps = 1;
    tuned.optimizer.kind = kind;
    tuned.optimizer.learning_rates = {"output.*:4", "*:2"};
    const TrainingOutcome factors = train_on_noise(tuned);
    tuned.optimizer.learning_rates.clear();
    for (const auto& [factor, of_head] : {std::pair{4, true}, {2, false}}) {
      TrainingJob whole = tuned;
      whole.optimizer.learning_rate *= factor;
      const TrainingOutcome all = train_on_noise(whole);
      for (const auto& [name, values] : all.tensors)
        if (name.starts_with("output.") == of_head) {
          EXPECT_EQ(factors.tensors.at(name), values) << name << ", " << kind;
        }
    }
  }
}

TEST(FineTuning, OptimizersWithFactorsChangeNoBitInStages) {
  for (const char* kind : {"sgd", "lamb", "novograd"})
    for (const double larc : {0.0, 0.01}) {
      TrainingJob tuned = job();
      tuned.optimizer.kind = kind;
      if (tuned.optimizer.kind == "sgd") tuned.optimizer.larc = larc;
      tuned.optimizer.weight_decay = 1e-3;
      tuned.optimizer.freeze = {"rnn1*"};
      tuned.optimizer.learning_rates = {"output.*:10", "conv?.weight:0.25"};
      const TrainingOutcome alone = train_on_noise(tuned);
      tuned.stages = 3;
      tuned.replicas = 2;
      tuned.shard = true;
      expect_equal(train_on_noise(tuned), alone, kind);
    }
}

}  // namespace
}  // namespace penstock::runtime
