#include "partition/planner/choose/choose_sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include "partition/planner/choose/candidate_estimate.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/partition/large_instances.h"
#include "tests/support/partition/rounding.h"

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
      // The ring of several replicas over free links takes no time either.
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

double simulated(const PlacementProblem& problem, const SequenceProfile& profile,
                 const PlacedSequence& placed) {
  return sequence_steps({problem, placed, profile}).front().seconds;
}

/// Layers on 64 devices of two speeds, with slow links between nodes.
test::Instance mixed_instance(unsigned seed) {
  std::mt19937 random(seed);
  test::Instance instance = test::large_instance(random, 23, "h100-8x8");
  test::slow_down(instance, 0.4, 1.25e9);
  instance.micro_batches = 61;
  return instance;
}

TEST(ChooseSequence, IsNoSlowerThanItsGridAskedFor) {
  int switched = 0;
  for (const unsigned seed : {1u, 2u, 3u}) {
    const test::Instance instance = mixed_instance(seed);
    const PlacementProblem problem = instance.problem();
    const auto candidates = sequence_candidates(problem, instance.sequence, {}, {});
    ASSERT_GT(candidates.size(), 2u);
    const PlacedSequence& chosen = choose_sequence(problem, instance.sequence, candidates);
    const double step = simulated(problem, instance.sequence, chosen);
    for (const PlacedSequence& other : candidates) {
      EXPECT_LE(step, simulated(problem, instance.sequence, other) * (1 + kSameStep));
      const auto value = test::value_of(instance, other.cut.begin, other.devices);
      ASSERT_TRUE(value);
      EXPECT_NEAR(other.value, *value, test::rounding * *value);
      EXPECT_LE(other.bound, other.value);
    }
    const GridConstraints same{chosen.grid.stages, chosen.grid.replicas};
    const auto asked = sequence_candidates(problem, instance.sequence, same, {});
    const PlacedSequence& again = choose_sequence(problem, instance.sequence, asked);
    EXPECT_LE(step, simulated(problem, instance.sequence, again) * (1 + kSameStep));
    switched += &chosen != &candidates.front();
  }
  EXPECT_GT(switched, 0);
}

// Two replicas take 44 ms by the closed form, and two stages 63; messages beside computing shorten
// only the latter.
TEST(ChooseSequence, TakesAGridThatOnlySimulationFavours) {
  SequenceProfile profile{.name = "example", .layers = {}};
  for (const double ms : {3.0, 2.0, 2.0, 3.0})
    profile.layers.push_back({"layer", ms / 3, 2 * ms / 3, 10e6, 10e6, 0});
  PlacementProblem problem{.sequence = SequenceLoad(profile, SequenceLoad::Crossing::bytes),
                           .cluster = equal_devices(2),
                           .micro_batches = 8};
  problem.cluster.node_links = {{.latency = 0, .bandwidth = 10e9}};
  const auto candidates = sequence_candidates(problem, profile, {}, {});
  EXPECT_EQ(candidates.front().grid, (Grid{1, 2}));
  EXPECT_NEAR(candidates.front().value, 44e-3, 1e-9);
  const PlacedSequence& chosen = choose_sequence(problem, profile, candidates);
  EXPECT_EQ(chosen.grid, (Grid{2, 1}));
  EXPECT_NEAR(chosen.value, 63e-3, 1e-9);
  EXPECT_LT(simulated(problem, profile, chosen), 44e-3);
}

TEST(ChooseSequence, KeepsTheBottlenecksOptimum) {
  test::Instance instance = mixed_instance(4);
  instance.objective = Objective::bottleneck;
  EXPECT_EQ(sequence_candidates(instance.problem(), instance.sequence, {}, {}).size(), 1u);
}

TEST(LeastStep, IsAboveNoSimulatedStep) {
  std::mt19937 random(41);
  double closest = 0;
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    const test::Instance instance = test::random_instance(random);
    const PlacementProblem problem = instance.problem();
    const auto found = find_placement(problem, instance.constraints);
    if (!found || problem.sequence.work(0, problem.sequence.size()) == 0) continue;
    for (const Grid& grid : {found->grid, Grid{1, 1}, Grid{1, problem.cluster.size()}}) {
      const GridConstraints constraints{grid.stages, grid.replicas};
      if (grid.replicas > problem.micro_batches) continue;
      const auto placed = find_placement(problem, constraints);
      if (!placed) continue;
      const double min = min_step(problem, instance.sequence, constraints);
      EXPECT_GE(min * (1 + test::rounding), min_step(problem, instance.sequence, {}));
      for (const SequenceStep& step : sequence_steps({problem, *placed, instance.sequence})) {
        EXPECT_GE(step.seconds, min * (1 - test::rounding)) << round;
        closest = std::max(closest, min / step.seconds);
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
  EXPECT_NEAR(closest, 1, 1e-9);
}

class SequenceBottleneck : public testing::Test {
 protected:
  SequenceBottleneck() {
    profile_.name = "five";
    for (int i = 0; i < 5; ++i)
      profile_.layers.push_back({.name = "layer" + std::to_string(i),
                                 .forward_ms = 1,
                                 .backward_ms = 2,
                                 .activation_bytes = 1e6,
                                 .parameter_bytes = 3e6});
    cluster_ = equal_devices(2);
    cluster_.node_links = {LinkRates{.latency = 0, .bandwidth = 1e15}};
  }

  std::string bottleneck(SequenceLoad::Recompute recompute = SequenceLoad::Recompute::none) const {
    const PlacementProblem problem{
        .sequence = SequenceLoad(profile_, SequenceLoad::Crossing::bytes, recompute),
        .cluster = cluster_,
        .micro_batches = 7};
    const PlacedSequence placed = place_sequence(problem, constraints_, {});
    return bottleneck_of({problem, placed, profile_});
  }

  SequenceProfile profile_;
  Cluster cluster_;
  GridConstraints constraints_{.stages = 2};
};

TEST_F(SequenceBottleneck, IsComputingWhereLinksAreWide) {
  profile_.layers[1].forward_ms = 2;  // and so three layers of 9 ms after two of 7
  EXPECT_EQ(bottleneck(), "the computation of stage 1, 100 % of its 9 ms for a micro-batch");
}

TEST_F(SequenceBottleneck, NamesALayerAlone) {
  profile_.layers[4].forward_ms = 100;
  EXPECT_EQ(bottleneck().substr(0, 43), "the computation of stage 1 (layer 4 alone),")
      << bottleneck();
}

TEST_F(SequenceBottleneck, IsMessagesWhereLinksAreNarrow) {
  cluster_.node_links = {LinkRates{.latency = 0, .bandwidth = 1e6}};
  EXPECT_EQ(bottleneck().substr(0, 16), "the messages of ") << bottleneck();
}

TEST_F(SequenceBottleneck, IsAddingGradientsWhereReplicasAreFar) {
  cluster_.node_links = {LinkRates{.latency = 0, .bandwidth = 1e6}};
  constraints_ = {.stages = 1, .replicas = 2};
  EXPECT_EQ(bottleneck().substr(0, 33), "the gradient reduction of stage 0") << bottleneck();
}

TEST_F(SequenceBottleneck, IsWhatTheSlowestReplicaSpendsMostOn) {
  // The fast replica of stage 0 sends over a narrow link, and takes longest for it.
  cluster_ = equal_devices(4);
  cluster_.devices[0].speed = 2;
  cluster_.devices[2].speed = 2;
  const LinkRates wide{.latency = 0, .bandwidth = 1e15}, narrow{.latency = 0, .bandwidth = 2e8};
  cluster_.exact_links.assign(16, wide);
  cluster_.exact_links[0 * 4 + 2] = cluster_.exact_links[2 * 4 + 0] = narrow;
  const PlacementProblem problem{.sequence = SequenceLoad(profile_, SequenceLoad::Crossing::bytes),
                                 .cluster = cluster_,
                                 .micro_batches = 8};
  PlacedSequence placed;
  placed.grid = {2, 2};
  placed.devices = {{0, 1}, {2, 3}};
  placed.cut = *best_cut(problem.sequence, stage_costs(problem, placed.devices), {});
  const std::string said = bottleneck_of({problem, placed, profile_});
  EXPECT_NE(said.find("the messages of stage "), std::string::npos) << said;
}

TEST_F(SequenceBottleneck, IsMemoryWhereItShapesTheCut) {
  // Two layers on device 0 at most, which is the faster one.
  cluster_.devices[0].speed = 4;
  cluster_.devices[0].memory = 30e6;
  EXPECT_TRUE(
      bottleneck().starts_with("memory, which shapes the cut, and the computation of stage "))
      << bottleneck();
  cluster_.devices[0].memory = 300e6;
  EXPECT_TRUE(bottleneck().starts_with("the computation of stage ")) << bottleneck();
}

TEST_F(SequenceBottleneck, IsMemoryWithRecomputation) {
  EXPECT_TRUE(
      bottleneck(SequenceLoad::Recompute::stage)
          .starts_with("memory, because nothing fits without activation recomputation, and the "))
      << bottleneck(SequenceLoad::Recompute::stage);
}

}  // namespace

}  // namespace penstock::partition
