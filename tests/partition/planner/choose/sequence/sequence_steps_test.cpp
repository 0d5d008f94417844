#include "partition/planner/choose/sequence/sequence_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

/// When the last pass of a schedule ends if messages take no time: starts are put off until no pass
/// begins before what it needs, which shares nothing with the simulator.
double relaxed(const Schedule& schedule, const std::vector<ChunkTimes>& stages) {
  std::map<std::tuple<ActionKind, int, int>, double> ends;
  const auto end_of = [&](ActionKind kind, int chunk, int micro_batch) {
    const auto at = ends.find({kind, chunk, micro_batch});
    return at == ends.end() ? 0.0 : at->second;
  };
  double last = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& list : schedule.ranks) {
      double free = 0;
      for (const Action& a : list) {
        if (!computes(a.kind)) continue;
        double start = free;
        const int m = a.micro_batch;
        if (a.kind == ActionKind::forward)
          start = std::max(start, end_of(ActionKind::forward, a.chunk - 1, m));
        if (a.kind == ActionKind::backward || a.kind == ActionKind::backward_input)
          start = std::max(start, end_of(a.kind, a.chunk + 1, m));
        free = start + stages[a.chunk].of(a.kind);
        double& end = ends[{a.kind, a.chunk, m}];
        changed |= free > end;
        end = std::max(end, free);
        last = std::max(last, end);
      }
    }
  }
  return last;
}

/// The most micro-batches between forward and the end of backward on a stage.
int max_held(const Schedule& schedule, int stage) {
  int held = 0, max = 0;
  for (const Action& a : schedule.ranks[stage]) {
    held += a.kind == ActionKind::forward;
    max = std::max(max, held);
    held -= a.kind == ActionKind::backward || a.kind == ActionKind::backward_weight;
  }
  return max;
}

class SequenceStepsOf : public testing::Test {
 protected:
  /// A sequence of random layers on devices of two speeds, with links that take no time.
  void sample(std::mt19937& random, int layers, int devices) {
    const auto number = [&] { return 1.0 + static_cast<double>(random() % 1000); };
    profile_ = {};
    for (int i = 0; i < layers; ++i)
      profile_.layers.push_back({"layer", number(), number(), number(), number(), 0});
    problem_.cluster = equal_devices(devices);
    for (Device& device : problem_.cluster.devices)
      device.speed = 1 + static_cast<double>(random() % 2);
    problem_.cluster.node_links = {
        {.latency = 0, .bandwidth = std::numeric_limits<double>::infinity()}};
    problem_.micro_batches = 1 + static_cast<int>(random() % 13);
    problem_.sequence = SequenceLoad(profile_, SequenceLoad::Crossing::bytes);
  }
  std::vector<ChunkTimes> times(const PlacedSequence& placed, int replica, bool again) const {
    std::vector<ChunkTimes> stages;
    for (int k = 0; k < placed.grid.stages; ++k) {
      const double speed = problem_.cluster.devices[placed.devices[k][replica]].speed;
      ChunkTimes& stage = stages.emplace_back();
      for (int i = placed.cut.begin[k]; i < placed.cut.begin[k + 1]; ++i) {
        const LayerProfile& layer = profile_.layers[i];
        stage.forward += layer.forward_ms / 1e3 / speed;
        stage.backward_input +=
            (layer.backward_ms / 2 + (again ? layer.forward_ms : 0)) / 1e3 / speed;
        stage.backward_weight += layer.backward_ms / 2e3 / speed;
      }
    }
    return stages;
  }

  SequenceProfile profile_;
  PlacementProblem problem_{.sequence = SequenceLoad({}, SequenceLoad::Crossing::bytes),
                            .cluster = {}};
};

TEST_F(SequenceStepsOf, AreSimulatedWithTheFastestFittingOneFirst) {
  std::mt19937 random(11);
  std::map<std::string, int> chosen;
  int lacking = 0;
  for (int round = 0; round < 80; ++round) {
    sample(random, 6, 4);
    const int replicas = 1 + round % 2;
    if (problem_.micro_batches < replicas) continue;
    const PlacedSequence placed =
        place_sequence(problem_, {.stages = 1 + round % (4 / replicas), .replicas = replicas});
    double needed = 0;  // by 1F1B, so that others may lack memory
    for (int k = 0; k < placed.grid.stages; ++k)
      needed =
          std::max(needed, problem_.sequence.bytes(placed.cut.begin[k], placed.cut.begin[k + 1],
                                                   in_flight(problem_, placed.grid, k)));
    for (Device& device : problem_.cluster.devices)
      device.memory = needed * (round % 3 == 0 ? 1 : 1.4);
    const SequencePlan plan{problem_, placed, profile_};
    const auto steps = sequence_steps(plan);
    ASSERT_EQ(steps.size(), 4u);
    for (const SequenceStep& step : steps) {
      double slowest = 0;
      bool fits = true;
      for (int r = 0; r < replicas; ++r) {
        const Schedule lists = make_schedule(step.schedule, placed.grid.stages, plan.runs_of(r));
        slowest = std::max(slowest, relaxed(lists, times(placed, r, false)));
        for (int k = 0; k < placed.grid.stages; ++k) {
          EXPECT_LE(max_held(lists, k), step.in_flight[k]);
          if (r == 0) {
            EXPECT_EQ(max_held(lists, k), step.in_flight[k]);
          }
          fits = fits && plan.bytes(k, max_held(lists, k)) <= plan.limit(k);
        }
      }
      // Of several replicas the ring over free links takes no time either.
      EXPECT_NEAR(step.seconds, slowest, 1e-9 * slowest) << step.schedule;
      EXPECT_EQ(step.fits, fits) << step.schedule;
      EXPECT_TRUE(!fits || step.seconds >= steps.front().seconds * (1 - 1e-8));
      lacking += !fits;
    }
    EXPECT_TRUE(steps.front().fits);
    ++chosen[steps.front().schedule];
  }
  EXPECT_GE(chosen.size(), 3u);
  EXPECT_GT(lacking, 10);
}

TEST_F(SequenceStepsOf, WholeStagesAreRecomputed) {
  std::mt19937 random(12);
  sample(random, 6, 3);
  problem_.micro_batches = 7;
  problem_.sequence =
      SequenceLoad(profile_, SequenceLoad::Crossing::bytes, SequenceLoad::Recompute::stage);
  const PlacedSequence placed = place_sequence(problem_, {.stages = 3});
  const auto steps = sequence_steps({problem_, placed, profile_});
  ASSERT_EQ(steps.size(), 2u);
  for (const SequenceStep& step : steps)
    EXPECT_NEAR(step.seconds, relaxed(make_schedule(step.schedule, 3, 7), times(placed, 0, true)),
                1e-9);
}

TEST_F(SequenceStepsOf, MessagesTakeTheirTimeUnlessHidden) {
  std::mt19937 random(13);
  sample(random, 6, 2);
  problem_.micro_batches = 9;
  const PlacedSequence placed = place_sequence(problem_, {.stages = 2, .replicas = 1});
  const auto seconds = [&] {
    return predict_sequence_step({problem_, placed, profile_}, "1f1b", 0)->period();
  };
  const double free = seconds();
  problem_.cluster.node_links.front().latency = 0.01;
  const double hidden = seconds();
  EXPECT_GE(hidden, free + 2 * 0.01 - 1e-9);  // of the first micro-batch there and back
  problem_.cluster.overlap = 0;
  EXPECT_GT(seconds(), hidden);
}

TEST_F(SequenceStepsOf, LongStepsAreNotSimulated) {
  std::mt19937 random(14);
  sample(random, 6, 2);
  problem_.micro_batches = 1025;
  const PlacedSequence placed = place_sequence(problem_, {.stages = 2, .replicas = 1});
  const auto steps = sequence_steps({problem_, placed, profile_});
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].schedule, "1f1b");
  EXPECT_EQ(steps[0].seconds, 0);
  EXPECT_EQ(steps[0].in_flight, (std::vector{2, 1}));
}

}  // namespace
}  // namespace penstock::partition
