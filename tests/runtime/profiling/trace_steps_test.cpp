#include "runtime/profiling/trace_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "runtime/profiling/measure_profile.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class TraceSteps : public testing::Test {
 protected:
  TraceSteps() { test::write_tone_corpus(folder_.path() / "train.jsonl", 13, 1); }

  configs::Config recipe(std::vector<std::string> overrides) const {
    return configs::parse_config(
        test::tone_recipe(folder_.path() / "train.jsonl", "", folder_.path() / "output"),
        "recipe.toml", layers::model_families(), overrides);
  }
  static partition::FittedCost constant(double seconds) {
    return {{partition::CostTerm::constant}, {seconds}};
  }

  /// One step on two ranks, predicted from links and a profile in which each layer's forward takes
  /// so many seconds and its backward none.
  static Trace predicted_trace(const configs::Config& config, const partition::Cluster& links,
                               double forward) {
    Trace trace;
    comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
      const ProfilingData data = load_profiling_data(config, world);
      partition::DeviceProfile profile;
      profile.model = partition::model_summary(config.model, data.labels);
      profile.middling.frames = {70};
      for (const std::string& layer : partition::names_of(data.sequence))
        profile.layers.push_back({layer, constant(forward), {}, constant(0)});
      Trace own = trace_steps(config, world, {.steps = 1, .profile = profile, .links = links});
      if (world.rank() == 0) trace = std::move(own);
    });
    return trace;
  }
  /// Rank 0's trace. Links are measured unless they are given.
  Trace traced(const configs::Config& config, int ranks,
               const std::optional<partition::Cluster>& links = {}) const {
    Trace trace;
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      const ProfilingData data = load_profiling_data(config, world);
      const partition::DeviceProfile profile =
          measure_profile(data, world, {.micro_batches = 3, .repeats = 1});
      Trace own = trace_steps(config, world, {.steps = 3, .profile = profile, .links = links});
      if (world.rank() == 0) trace = std::move(own);
    });
    return trace;
  }

  static const PredictedStep& beforehand(const TracedStep& step) {
    return step.predicted.at(Prediction::beforehand);
  }

  test::TemporaryFolder folder_;
};

TEST_F(TraceSteps, HasTheSameActionsMeasuredAndPredicted) {
  for (const char* schedule : {"1f1b", "zb-h1", "zb-v"}) {
    const bool late = std::string(schedule) == "zb-h1";
    const Trace trace =
        traced(recipe({"pipeline.stages=2", "trainer.lanes=1",
                       std::string("pipeline.post_validation=") + (late ? "true" : "false"),
                       std::string("pipeline.schedule=") + schedule}),
               2, partition::equal_devices(2));
    ASSERT_EQ(trace.steps.size(), 3u);
    EXPECT_GT(trace.measured_s(), 0);
    EXPECT_EQ(trace.predictions(), (std::vector{Prediction::beforehand, Prediction::calibrated}));
    for (const Prediction by : trace.predictions()) EXPECT_GT(trace.predicted_s(by), 0);
    double end = 0;
    for (const TracedStep& step : trace.steps) {
      EXPECT_NEAR(step.begin, end, 1e-9);
      end = step.begin + step.measured_s;
      ASSERT_EQ(step.measured.size(), 2u);
      for (int rank = 0; rank < 2; ++rank) {
        std::vector<partition::Action> measured, predicted;  // without messages and reductions
        for (const WatchedAction& action : step.measured[rank])
          if (partition::computes(action.action.kind)) measured.push_back(action.action);
        for (const partition::TimedAction& timed : beforehand(step).ranks[rank])
          if (partition::computes(timed.action.kind)) predicted.push_back(timed.action);
        EXPECT_EQ(measured, predicted) << schedule << ", rank " << rank;
        EXPECT_FALSE(measured.empty());
      }
      const auto sends = [](const WatchedAction& action) {
        return partition::is_send(action.action.kind);
      };
      std::ptrdiff_t sent = 0;
      for (const auto& rank : step.measured) sent += std::ranges::count_if(rank, sends);
      for (const auto& [by, predicted] : step.predicted)
        EXPECT_EQ(predicted.messages.size(), sent) << schedule;
    }
  }
}

TEST_F(TraceSteps, ReachesRanksWithoutALinkBetweenThem) {
  for (const char* schedule : {"1f1b", "interleaved"}) {
    const Trace trace = traced(recipe({"pipeline.stages=3", "trainer.lanes=1",
                                       std::string("pipeline.schedule=") + schedule}),
                               3);
    ASSERT_EQ(trace.steps.size(), 3u);
    for (const TracedStep& step : trace.steps) EXPECT_GT(beforehand(step).seconds, 0);
  }
}

TEST_F(TraceSteps, GoesOnFromTurnToTurn) {
  const configs::Config config = recipe({"pipeline.stages=2", "trainer.lanes=1"});
  Trace trace;
  comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
    Trace own = trace_steps(config, world, {.steps = 5});
    EXPECT_EQ(own.steps.size(), world.rank() == 0 ? 5 : 0);
    if (world.rank() == 0) trace = std::move(own);
  });
  const ProfilingData data = [&] {
    std::optional<ProfilingData> loaded;
    comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& self) {
      loaded = load_profiling_data(config, self);
    });
    return std::move(*loaded);
  }();
  double end = 0;
  for (std::size_t s = 0; s < trace.steps.size(); ++s) {
    const TracedStep& step = trace.steps[s];
    EXPECT_NEAR(step.begin, end, 1e-9);
    end = step.begin + step.measured_s;
    ASSERT_EQ(step.predicted.size(), 1u) << "nothing was measured beforehand";
    EXPECT_GT(step.predicted.at(Prediction::calibrated).seconds, 0);
    const auto forwards = std::ranges::count_if(step.measured[0], [](const WatchedAction& action) {
      return action.action.kind == partition::ActionKind::forward;
    });
    EXPECT_EQ(forwards, data.steps.at(static_cast<std::int64_t>(2 + s)).micro_batches.size()) << s;
    for (const WatchedAction& action : step.measured[1])
      EXPECT_LE(action.end, end + 1e-9) << "of the step behind";
  }
}

TEST_F(TraceSteps, AllocatesWhatIsPlanned) {
  for (const char* late : {"false", "true"}) {
    const Trace trace = traced(recipe({"pipeline.stages=2", "trainer.lanes=1",
                                       std::string("pipeline.post_validation=") + late}),
                               2, partition::equal_devices(2));
    EXPECT_EQ(trace.allocated_bytes, trace.planned_bytes) << late;
    EXPECT_GT(trace.planned_bytes.at(1), 0) << late;
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "output"));
  }
}

TEST_F(TraceSteps, PredictsReplicas) {
  const configs::Config config = recipe({"pipeline.replicas=2", "trainer.lanes=2"});
  const Trace trace = traced(config, 2, partition::equal_devices(2));
  for (const TracedStep& step : trace.steps) {
    int forwards = 0;
    double busiest = 0;
    for (int rank = 0; rank < 2; ++rank) {
      std::vector<partition::Action> measured, predicted;  // each replica's own micro-batches
      for (const WatchedAction& action : step.measured[rank])
        if (partition::computes(action.action.kind)) measured.push_back(action.action);
      double busy = 0;
      for (const partition::TimedAction& timed : beforehand(step).ranks[rank]) {
        if (!partition::computes(timed.action.kind)) continue;
        predicted.push_back(timed.action);
        busy += timed.end - timed.start;
        forwards += timed.action.kind == partition::ActionKind::forward;
      }
      EXPECT_EQ(measured, predicted) << rank;
      EXPECT_FALSE(measured.empty());
      busiest = std::max(busiest, busy);
    }
    EXPECT_EQ(forwards, 3);  // what the recordings fill of four, over both replicas
    EXPECT_GE(beforehand(step).seconds, busiest * (1 - 1e-9));  // of the slower replica
    EXPECT_LT(beforehand(step).seconds, 2 * busiest + 1);
  }
}

/// Costs and links that no machine has, so that nothing of this one can be in the prediction.
TEST_F(TraceSteps, PredictsBeforehandFromFilesAlone) {
  const configs::Config config = recipe({"pipeline.stages=2", "trainer.lanes=1"});
  partition::Cluster links = partition::equal_devices(2);
  links.node_links = {{.latency = 7, .bandwidth = 1e12}};
  const auto seconds_of = [&](double forward) {
    const Trace trace = predicted_trace(config, links, forward);
    EXPECT_TRUE(trace.links_beforehand);
    return trace.predicted_s(Prediction::beforehand);
  };
  const double once = seconds_of(100), twice = seconds_of(200);
  EXPECT_GT(once, 14);  // a message there, a gradient back
  EXPECT_GT(once, 100);
  const double links_s = 2 * once - twice;
  EXPECT_NEAR(links_s, std::round(links_s / 7) * 7, 1e-6) << "whole latencies";
  EXPECT_GE(links_s, 14 - 1e-6);
}

// Layers and messages take no time, so that only copies do.
TEST_F(TraceSteps, PredictsWhatOffloadsTake) {
  const auto seconds_of = [&](int resident, double host_bandwidth) {
    const configs::Config config =
        recipe({"pipeline.stages=2", "trainer.lanes=1", "pipeline.schedule=gpipe",
                "data.micro_batches=3", "pipeline.resident=" + std::to_string(resident)});
    partition::Cluster links = partition::equal_devices(2);
    links.node_links = {{.latency = 0, .bandwidth = 1e18}};
    for (partition::Device& device : links.devices) device.host_bandwidth = host_bandwidth;
    return predicted_trace(config, links, 0).predicted_s(Prediction::beforehand);
  };
  const double slow = seconds_of(1, 10), fast = seconds_of(1, 70);
  EXPECT_GT(slow, 60);
  EXPECT_NEAR(slow, 7 * fast, 1e-6 * slow);
  EXPECT_LT(seconds_of(0, 10), 1);
}

TEST_F(TraceSteps, RejectsFewerLinksThanRanks) {
  comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
    const configs::Config config = recipe({"pipeline.stages=2", "trainer.lanes=1"});
    const std::string message = test::message_of<ConfigError>(
        [&] { trace_steps(config, world, {.steps = 1, .links = partition::equal_devices(1)}); });
    EXPECT_NE(message.find("the cluster file has 1 device, but the plan 2 ranks"),
              std::string::npos)
        << message;
  });
}

TEST_F(TraceSteps, RejectsAProfileOfAnotherModel) {
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    partition::DeviceProfile other;
    other.model = "another";
    const configs::Config config = recipe({});
    const std::string message = test::message_of<ConfigError>(
        [&] { trace_steps(config, world, {.steps = 1, .profile = other}); });
    EXPECT_NE(message.find("the costs are of another model\n    measured: another, fp32"),
              std::string::npos)
        << message;
  });
}

}  // namespace
}  // namespace penstock::runtime
