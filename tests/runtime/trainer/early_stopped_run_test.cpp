#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::runtime {
namespace {

using Overrides = std::vector<std::string>;

// No rate falls by so much, so that every run with this patience ends two validations after its
// first one, on any machine.
const std::string kNeverBetter = "trainer.early_stopping_threshold=1000";
const Overrides kPatient = {"trainer.early_stopping_patience=2", kNeverBetter};
const Overrides kInStages = {"trainer.early_stopping_patience=2", kNeverBetter,
                             "pipeline.stages=2"};

/// How a run is disturbed.
struct Disturbance {
  std::int64_t stop_after = 1000;  // the step after which it is asked to stop
  std::int64_t dies_at = 0;        // the validation after which it dies; 0: none
};

/// Trains ranks that are threads, for 16 steps with a validation after every second one.
class EarlyStoppedRun : public testing::Test {
 protected:
  TrainingSummary run(const std::string& output, const Overrides& more, int ranks = 1,
                      Disturbance disturbance = {}) {
    Overrides overrides = {"trainer.output=" + folder_.in(output), "trainer.steps=16",
                           "trainer.validate_every=2", "trainer.checkpoint_every=3"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    configs::Config recipe =
        configs::load_config(folder_.in("recipe.toml"), layers::model_families(), overrides);
    recipe.trainer.resume = std::filesystem::exists(folder_.in(output));
    TrainingObserver observer;
    observer.note = [&](const std::string& text) { notes_ += text + '\n'; };
    observer.validation = [&](const EvaluationReport& report) {
      validated_.push_back(report.step);
      if (report.step == disturbance.dies_at) throw std::runtime_error("it dies");
    };
    TrainingSummary summary;
    validated_.clear();
    notes_.clear();
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      TrainingTask task{recipe};
      // Asked once at the beginning, and at the end of each step.
      task.stop_asked = [after = disturbance.stop_after, calls = std::int64_t{0}]() mutable {
        return calls++ >= after;
      };
      const TrainingSummary of_rank = train(task, world, observer);
      if (world.rank() == 0) summary = of_rank;
    });
    return summary;
  }

  /// Returns the lines of metrics.jsonl that have the key, by step.
  std::multimap<std::int64_t, nlohmann::json> lines(const std::string& output,
                                                    const std::string& key) const {
    std::multimap<std::int64_t, nlohmann::json> found;
    std::istringstream in(test::read_file(folder_.in(output + "/metrics.jsonl")));
    for (std::string line; std::getline(in, line);)
      if (auto json = nlohmann::json::parse(line); json.contains(key))
        found.emplace(json["step"].get<std::int64_t>(), json[key]);
    return found;
  }

  /// Trains without disturbance, by the default patience.
  TrainingSummary undisturbed() {
    TrainingSummary summary = run("undisturbed", kPatient);
    EXPECT_NE(summary.early_end, "");
    EXPECT_FALSE(summary.stopped);
    EXPECT_EQ(summary.last_step.step, 6);
    return summary;
  }
  void expect_undisturbed(const std::string& output, const TrainingSummary& summary) const {
    EXPECT_EQ(folder_.record(output), folder_.record("undisturbed")) << output;
    const std::string rate = "validation_wer", end = "early_stopping";
    EXPECT_EQ(lines(output, rate), lines("undisturbed", rate)) << output;
    EXPECT_EQ(lines(output, end), lines("undisturbed", end)) << output;
    EXPECT_EQ(lines(output, end).begin()->second, summary.early_end) << output;
  }

  test::TrainingFolder folder_{"", ""};
  std::vector<std::int64_t> validated_;  // steps that the last run validated
  std::string notes_;
};

TEST_F(EarlyStoppedRun, EndsAtOneStepInEveryLayout) {
  const TrainingSummary alone = undisturbed();
  EXPECT_EQ(lines("undisturbed", "validation_wer").size(), 3u);
  for (const auto& [output, layout, ranks] : std::vector<std::tuple<std::string, Overrides, int>>{
           {"stages", {"pipeline.stages=2"}, 2},
           {"late", {"pipeline.stages=2", "pipeline.post_validation=true"}, 2},
           {"grid", {"pipeline.stages=2", "pipeline.replicas=2"}, 4}}) {
    Overrides overrides = kPatient;
    overrides.insert(overrides.end(), layout.begin(), layout.end());
    const TrainingSummary summary = run(output, overrides, ranks);
    EXPECT_EQ(summary.early_end, alone.early_end);
    expect_undisturbed(output, summary);
  }
}

// The validation stands in metrics.jsonl, and no checkpoint knows of it.
TEST_F(EarlyStoppedRun, EndsAlikeIfKilledBeforeASave) {
  const std::int64_t end = undisturbed().last_step.step;
  for (const std::int64_t step : {end - 2, end}) {
    const std::string output = "killed_at_" + std::to_string(step);
    EXPECT_ANY_THROW(run(output, kInStages, 2, {.dies_at = step}));
    EXPECT_TRUE(lines(output, "validation_wer").contains(step));
    expect_undisturbed(output, run(output, kPatient));
  }
}

// It is asked to stop where a validation is due, and killed after that validation when it goes on.
TEST_F(EarlyStoppedRun, RepeatsAValidationThatNoCheckpointKnows) {
  const std::int64_t step = undisturbed().last_step.step - 2;
  EXPECT_TRUE(run("output", kPatient, 1, {.stop_after = step}).stopped);
  EXPECT_ANY_THROW(run("output", kPatient, 1, {.dies_at = step}));
  EXPECT_EQ(validated_, std::vector{step});
  const TrainingSummary summary = run("output", kPatient);
  EXPECT_EQ(validated_, (std::vector{step, step + 2}));
  expect_undisturbed("output", summary);
}

TEST_F(EarlyStoppedRun, TrainsNoStepMoreUntilPatienceGrows) {
  const TrainingSummary first = undisturbed();
  const TrainingSummary again = run("undisturbed", kPatient);
  EXPECT_EQ(again.steps, 0);
  EXPECT_EQ(again.early_end, first.early_end);
  EXPECT_EQ(again.checkpoint, first.checkpoint);
  EXPECT_TRUE(validated_.empty());
  expect_undisturbed("undisturbed", again);
  const Overrides four = {"trainer.early_stopping_patience=4", kNeverBetter};
  EXPECT_EQ(run("four", four).last_step.step, 10);
  EXPECT_EQ(run("undisturbed", four).last_step.step, 10);
  EXPECT_EQ(folder_.record("undisturbed"), folder_.record("four"));
  const TrainingSummary whole = run("whole", {});
  EXPECT_EQ(whole.last_step.step, 16);
  EXPECT_EQ(run("undisturbed", {}).early_end, "");
  EXPECT_EQ(folder_.record("undisturbed"), folder_.record("whole"));
  EXPECT_TRUE(lines("undisturbed", "early_stopping").empty());
}

TEST_F(EarlyStoppedRun, MarksTheBestByItsMetric) {
  run("output", {"trainer.best_metric=loss", "trainer.keep=1"});
  const auto losses = lines("output", "validation_loss");
  const auto lowest = std::ranges::min_element(
      losses, {}, [](const auto& line) { return line.second.template get<double>(); });
  const auto mark = best_checkpoint(folder_.in("output"));
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->metric, "loss");
  EXPECT_EQ(mark->step, lowest->first);
  EXPECT_EQ(mark->value, lowest->second);
}

TEST_F(EarlyStoppedRun, CountsAnewByAnotherMetric) {
  (void)undisturbed();
  Overrides by_loss = kPatient;
  by_loss.push_back("trainer.best_metric=loss");
  const TrainingSummary summary = run("undisturbed", by_loss);
  EXPECT_EQ(summary.last_step.step, 12);  // the validations after the steps 8, 10 and 12
  EXPECT_NE(notes_.find("was chosen by wer, and trainer.best_metric is now loss"),
            std::string::npos)
      << notes_;
  EXPECT_NE(notes_.find("2 validations without improvement were counted by wer"), std::string::npos)
      << notes_;
  EXPECT_EQ(best_checkpoint(folder_.in("undisturbed"))->metric, "loss");
}

}  // namespace
}  // namespace penstock::runtime
