#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "partition/planner/simulate/memory.h"
#include "partition/planner/simulate/simulate.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/validator/validator.h"

namespace penstock::partition {
namespace {

/// A rank's share of a micro-batch takes F, B and W; its chunks share them evenly.
Simulation run(const Schedule& schedule, const ChunkTimes& of_rank) {
  const double chunks = schedule.chunks() / static_cast<double>(schedule.ranks.size());
  const ChunkTimes each{of_rank.forward / chunks, of_rank.backward_input / chunks,
                        of_rank.backward_weight / chunks};
  return simulate(schedule, equal_micro_batches(std::vector<ChunkTimes>(schedule.chunks(), each)));
}

/// Chunks a rank.
int chunks_of(const std::string& name) { return make_schedule(name, 1, 1).chunks(); }

/// Returns the bubble of the published formulas where every rank is as wide as the widest.
double published(const std::string& name, int p, const ChunkTimes& t) {
  const double f = t.forward, b = t.backward_input, w = t.backward_weight;
  if (name.starts_with("interleaved")) return (p - 1) * (f + b + w) / chunks_of(name);
  if (name == "zb-h1") return (p - 1) * (f + b - w);
  if (name == "zb-h2") return (p - 1) * (f + b - 2 * w);
  if (name == "zb-v") return 0;
  return (p - 1) * (f + b + w);
}

TEST(Bubbles, AreThePublishedOnesForEqualPasses) {
  for (const std::string name : {"gpipe", "1f1b", "interleaved", "interleaved-3", "interleaved-4",
                                 "zb-h1", "zb-h2", "zb-v"}) {
    for (int stages = 4; stages <= 16; ++stages) {
      for (const double bubble : run(make_schedule(name, stages, 4 * stages), {1, 1, 1}).bubbles())
        EXPECT_NEAR(bubble, published(name, stages, {1, 1, 1}), 1e-9) << name << " " << stages;
    }
  }
}

TEST(Bubbles, InterleavedHasNoMoreWhereGroupsAreUneven) {
  for (const std::string name : {"interleaved", "interleaved-3", "interleaved-4", "interleaved-7"})
    for (int stages = 2; stages <= 9; ++stages) {
      for (int batches = stages; batches <= 4 * stages + 1; ++batches) {
        const Schedule schedule = make_schedule(name, stages, batches);
        for (const double bubble : run(schedule, {1, 1, 1}).bubbles())
          EXPECT_NEAR(bubble, published(name, stages, {1, 1, 1}), 1e-9)
              << name << " " << stages << " " << batches;
        const int groups = batches / stages, largest = (batches + groups - 1) / groups;
        const int chunks = chunks_of(name);
        const auto max = peak_activations(schedule);
        for (int stage = 0; stage < stages; ++stage)
          EXPECT_EQ(max[stage], std::min(chunks * batches,
                                         2 * (stages - stage - 1) + (chunks - 1) * largest + 1))
              << name << " " << stages << " " << batches;
      }
    }
}

TEST(Bubbles, DualPipeVHasHalfOfZbH1s) {
  for (const ChunkTimes& times : {ChunkTimes{1, 1, 1}, {2, 2.2, 2}})
    for (int stages = 1; stages <= 9; ++stages)
      for (const int batches : {2 * stages, 2 * stages + 1, 4 * stages + 3}) {
        const Schedule schedule = make_schedule("dualpipe-v", stages, batches);
        const double expected = published("zb-h1", stages, times) / 2;
        EXPECT_NEAR(run(schedule, times).makespan, batches * times.total() + expected, 1e-9)
            << stages << " " << batches;
        for (const int pairs : peak_activations(schedule)) EXPECT_EQ(pairs, 2 * stages + 1);
      }
}

TEST(Bubbles, MakespansAreThePublishedOnes) {
  const auto makespan = [](const char* name, int stages, int batches) {
    return run(make_schedule(name, stages, batches), {1, 1, 1}).makespan;
  };
  for (const char* name : {"zb-h1", "zb-h2"}) {
    EXPECT_DOUBLE_EQ(makespan(name, 4, 8), 27);
    EXPECT_DOUBLE_EQ(makespan(name, 4, 16), 51);
    EXPECT_DOUBLE_EQ(makespan(name, 8, 32), 103);
  }
}

TEST(Bubbles, OnlyStepsThatOverlapGainByZbH2) {
  const auto period = [](const char* name, Barrier barrier) {
    return step_period(make_schedule(name, 4, 8), equal_micro_batches({4, {1, 1, 1}}), barrier);
  };
  EXPECT_DOUBLE_EQ(period("zb-h1", Barrier::before_step), 27);
  EXPECT_DOUBLE_EQ(period("zb-h2", Barrier::before_step), 27);
  EXPECT_DOUBLE_EQ(period("zb-h2", Barrier::none), 24);
  EXPECT_DOUBLE_EQ(period("1f1b", Barrier::before_step), 33);
}

TEST(Bubbles, ActivationsInFlightAreThePublishedOnes) {
  for (int stages = 1; stages <= 9; ++stages) {
    const int batches = 4 * stages;
    const auto one = peak_activations(make_schedule("1f1b", stages, batches));
    const auto two = peak_activations(make_schedule("interleaved", stages, batches));
    const auto v = peak_activations(make_schedule("zb-v", stages, batches));
    for (int stage = 0; stage < stages; ++stage) {
      EXPECT_EQ(one[stage], stages - stage);
      EXPECT_EQ(two[stage], 2 * (stages - stage - 1) + stages + 1);
      EXPECT_EQ(v[stage], 2 * stages);
    }
    // Activations wait for weight gradients too. Here only the largest of all stages is compared.
    const auto h1 = peak_activations(make_schedule("zb-h1", stages, batches));
    const auto h2 = peak_activations(make_schedule("zb-h2", stages, batches));
    EXPECT_EQ(std::ranges::max(h1), stages);
    EXPECT_EQ(std::ranges::max(h2), 2 * stages - 1);
  }
}

}  // namespace
}  // namespace penstock::partition
