#include "runtime/profiling/bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/error.h"
#include "comm/threads.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

BenchOptions tiny() {
  BenchOptions options;
  options.model = {.features = 17,
                   .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 7, .layers = 1}};
  options.utterances = 2;
  options.seconds = 0.3;
  options.micro_batches = 3;
  options.warm_up = 1;
  options.steps = 3;
  return options;
}

std::vector<BenchReport> reports(const BenchOptions& options, int ranks) {
  std::vector<BenchReport> reports(ranks);
  comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
    reports[world.rank()] = bench(options, world);
  });
  return reports;
}

TEST(Bench, GivesEveryRankTheSameModelAndLoss) {
  const BenchReport alone = reports(tiny(), 1).front();
  EXPECT_EQ(alone.first_layers, std::vector<int>{0});
  EXPECT_GE(alone.step_s, alone.fastest_step_s);
  EXPECT_LE(alone.step_s, alone.slowest_step_s);
  BenchOptions options = tiny();
  options.schedule = "gpipe";
  for (const BenchReport& report : reports(options, 3)) {
    EXPECT_EQ(report.stages, 3);
    EXPECT_EQ(report.parameters, alone.parameters);
    EXPECT_EQ(report.loss, alone.loss);
    EXPECT_EQ(report.first_layers.size(), 3u);
    EXPECT_EQ(report.stage_seconds.size(), 3u);
    EXPECT_LE(report.bound, 3);
  }
}

TEST(Bench, DealsMicroBatchesToReplicas) {
  const BenchReport alone = reports(tiny(), 1).front();
  BenchOptions options = tiny();
  options.replicas = 2;
  for (const BenchReport& report : reports(options, 4)) {
    EXPECT_EQ(report.stages, 2);
    EXPECT_EQ(report.replicas, 2);
    EXPECT_EQ(report.parameters, alone.parameters);
    EXPECT_EQ(report.loss, alone.loss);
    EXPECT_LE(report.bound, 2 + 1e-9);  // the busiest replica has two of three micro-batches
    EXPECT_GT(report.bound, 1);
  }
  options.replicas = 3;
  EXPECT_DOUBLE_EQ(reports(options, 3).front().bound, 3);
}

TEST(Bench, RefusesReplicasWithoutRanksOrMicroBatches) {
  BenchOptions options = tiny();
  options.replicas = 2;
  EXPECT_THROW(reports(options, 3), ConfigError);
  options.replicas = 4;
  EXPECT_THROW(reports(options, 4), ConfigError);
}

TEST(Bench, CutsAsManyChunksAsTheScheduleHas) {
  const BenchReport alone = reports(tiny(), 1).front();
  BenchOptions options = tiny();
  options.schedule = "zb-v";
  for (const BenchReport& report : reports(options, 2)) {
    EXPECT_EQ(report.parameters, alone.parameters);
    EXPECT_EQ(report.loss, alone.loss);
    EXPECT_EQ(report.first_layers.size(), 4u);
    EXPECT_EQ(report.stage_seconds.size(), 2u);
  }
}

/// No rank needs room for a model of many layers: two tell what all take.
TEST(Bench, MeasuresEachKindOfLayerOnce) {
  BenchOptions options = tiny();
  options.model.family = layers::DeepSpeech2Options{.channels = 2, .hidden = 7, .layers = 2};
  const BenchReport two = reports(options, 1).front();
  options.model.family = layers::DeepSpeech2Options{.channels = 2, .hidden = 7, .layers = 9};
  const int layers = partition::build_model(options.model, 29).size();
  options.cut = {layers - 1};
  for (const BenchReport& nine : reports(options, 2)) {
    EXPECT_EQ(nine.measured_layers, two.measured_layers);
    EXPECT_GT(nine.parameters, 2 * two.parameters);
    ASSERT_EQ(nine.stage_seconds.size(), 2u);
    const double others = nine.stage_seconds[0] / (layers - 1);  // on average
    EXPECT_GT(std::abs(others / nine.stage_seconds[1] - 1), 1e-6) << "the loss is like any layer";
  }
}

double flops_of(const BenchReport& report) { return report.flops_per_s * report.step_s; }

TEST(Bench, TellsWhatLayersOfEachKindTake) {
  BenchOptions options = tiny();
  options.model.family = layers::DeepSpeech2Options{.channels = 2, .hidden = 7, .layers = 3};
  const BenchReport report = reports(options, 1).front();
  int layers = 0;
  double measured = 0, flops = 0;
  for (const LayerKindTimes& kind : report.kinds) {
    EXPECT_GT(kind.measured_s, 0) << kind.kind;
    EXPECT_GT(kind.predicted_s, 0) << kind.kind;
    EXPECT_EQ(kind.kind.find_first_of("0123456789"), std::string::npos) << kind.kind;
    layers += kind.layers;
    measured += kind.measured_s;
    flops += kind.flops;
  }
  EXPECT_EQ(layers, partition::build_model(options.model, 29).size());
  const auto recurrences = std::ranges::find(report.kinds, "rnn", &LayerKindTimes::kind);
  ASSERT_NE(recurrences, report.kinds.end());
  EXPECT_EQ(recurrences->layers, 3);
  EXPECT_NEAR(measured, report.stage_seconds.front(), 1e-9);
  EXPECT_NEAR(3 * flops, flops_of(report), 1e-6 * flops_of(report));  // of three micro-batches
}

// The pipeline's bubble and the slowest stage's update are in it.
TEST(Bench, PredictsTheStepByADeviceFile) {
  BenchOptions options = tiny();
  options.schedule = "gpipe";
  const BenchReport alone = reports(options, 1).front();
  EXPECT_EQ(alone.predicted_by, "cpu-avx2");
  double micro_batch = 0;
  for (const LayerKindTimes& kind : alone.kinds) micro_batch += kind.predicted_s;
  EXPECT_GT(alone.predicted_s, 3 * micro_batch);
  EXPECT_LT(alone.predicted_s, 4 * micro_batch);
  const double in_stages = reports(options, 2).front().predicted_s;
  EXPECT_LT(in_stages, alone.predicted_s);
  EXPECT_GT(in_stages, alone.predicted_s / 2);
  options.like = "h100";
  const BenchReport faster = reports(options, 1).front();
  EXPECT_EQ(faster.predicted_by, "h100");
  EXPECT_NE(faster.predicted_s, alone.predicted_s);
}

TEST(Bench, CutsWhereItIsTold) {
  BenchOptions options = tiny();
  options.cut = {2, 5};
  for (const BenchReport& report : reports(options, 3))
    EXPECT_EQ(report.first_layers, (std::vector<int>{0, 2, 5}));
}

TEST(Bench, RejectsCutsThatDoNotRise) {
  for (const std::vector<int>& cut :
       std::vector<std::vector<int>>{{0, 3}, {3, 3}, {5, 3}, {3}, {3, 10000}, {1, 2, 3}}) {
    BenchOptions options = tiny();
    options.cut = cut;
    comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
      const std::string message = test::message_of<ConfigError>([&] { bench(options, world); });
      EXPECT_NE(message.find("--cut takes 2 layer numbers from 1 to "), std::string::npos);
    });
  }
}

}  // namespace
}  // namespace penstock::runtime
