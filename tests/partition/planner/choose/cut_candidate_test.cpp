#include "partition/planner/choose/cut_candidate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "partition/planner/choose/stage_memory.h"
#include "tests/support/partition/chosen_layers.h"
#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

class ChunkLoads : public testing::Test {
 protected:
  const Workload& workload(const Candidate& candidate) {
    return workloads_.of(candidate.batch, candidate.replicas);
  }
  std::vector<ChunkCutProblem> loads(Candidate candidate) {
    candidate.batch = problem_.constraints.batches.front();
    return chunk_loads(problem_, workload(candidate), candidate);
  }
  /// Returns the seconds of a layer's message for the mean micro-batch.
  double message(int layer, int replicas = 1) {
    const Candidate any{.replicas = replicas, .batch = problem_.constraints.batches.front()};
    const LinkRates& link = problem_.cluster.node_links.front();
    return link.latency + workload(any).mean.layers[layer].activation_bytes / link.bandwidth;
  }

  LayerSequence sequence_ = test::small_sequence();
  PlanningProblem problem_ = test::planned_sequence(sequence_, 4, 1e9);
  Workloads workloads_{problem_};
};

// Layers take 84, 42, 168 and 126 s of the mean micro-batch of 14 frames.
TEST_F(ChunkLoads, MessagesDelayAStageOrOverlapItsComputing) {
  problem_.cluster.overlap = 0.75;
  problem_.cluster.devices[2].speed = 2;
  const auto ways = loads({.stages = 3, .devices = {{0}, {2}, {1}}});
  ASSERT_EQ(ways.size(), 2u);
  EXPECT_DOUBLE_EQ(ways[0].seconds(0, 2, 0), 126 + 2 * message(1));
  EXPECT_DOUBLE_EQ(ways[0].seconds(2, 3, 1), 84 + 2 * message(1) + 2 * message(2));
  EXPECT_DOUBLE_EQ(ways[1].seconds(0, 2, 0), 126 + 0.25 * message(1));
  EXPECT_DOUBLE_EQ(ways[1].seconds(2, 3, 1), 84 + 0.25 * (message(1) + message(2)));
  EXPECT_DOUBLE_EQ(ways[1].seconds(3, 4, 2), 126 + 0.25 * message(2));
}

TEST_F(ChunkLoads, AStageIsNoFasterThanItsLinks) {
  problem_.cluster.node_links.front().bandwidth = 0.5;
  const auto ways = loads({.stages = 2, .devices = {{0}, {2}}});
  ASSERT_GT(message(1), 420);
  EXPECT_DOUBLE_EQ(ways[1].seconds(0, 2, 0), message(1));
  EXPECT_DOUBLE_EQ(ways[1].seconds(2, 4, 1), message(1));
}

TEST_F(ChunkLoads, LowerBoundsAreNeverAboveLoads) {
  problem_.cluster.devices[1].speed = 3;
  const Candidate one_each{.stages = 2, .replicas = 2, .devices = {{0, 1}, {2, 3}}};
  Candidate two_each = one_each;
  two_each.schedule = "zb-v";
  for (const Candidate& candidate : {one_each, two_each})
    for (const ChunkCutProblem& way : loads(candidate)) {
      EXPECT_EQ(way.runs, 2);
      for (int chunk = 0; chunk < way.chunks; ++chunk)
        for (int first = 0; first < 4; ++first)
          for (int last = first + 1; last <= 4; ++last) {
            EXPECT_LE(way.work.seconds(first, last, chunk), way.seconds(first, last, chunk));
            EXPECT_GT(way.work.seconds(first, last, chunk),
                      way.work.seconds(first, last - 1, chunk));
          }
    }
}

TEST_F(ChunkLoads, TwoChunksShareAStageOrCountAlone) {
  problem_.cluster.devices[2].speed = 2;
  const auto ways = loads({.stages = 2, .schedule = "zb-v", .devices = {{0}, {2}}});
  EXPECT_EQ(ways[0].rank, (std::vector{0, 1, 1, 0}));
  EXPECT_TRUE(ways[1].rank.empty());
  EXPECT_DOUBLE_EQ(ways[0].seconds(1, 3, 2), 105);
  EXPECT_DOUBLE_EQ(ways[1].seconds(1, 3, 3), 210);
}

/// All ways to cut so many layers into so many chunks.
std::vector<std::vector<int>> all_cuts(int layers, int chunks) {
  std::vector<std::vector<int>> cuts{{0}};
  for (int chunk = 1; chunk <= chunks; ++chunk) {
    std::vector<std::vector<int>> longer;
    for (const auto& cut : cuts)
      for (int last = cut.back() + 1; last <= layers; ++last)
        if ((chunk == chunks) == (last == layers)) {
          longer.push_back(cut);
          longer.back().push_back(last);
        }
    cuts = std::move(longer);
  }
  return cuts;
}

class CutCandidate : public testing::Test {
 protected:
  double simulated(Candidate candidate, const std::vector<int>& begin) {
    candidate.begin = begin;
    return estimate_candidate(problem_, workload(), candidate, 1).step_seconds;
  }
  const Workload& workload() { return workloads_.of(problem_.constraints.batches.front(), 1); }
  Candidate stages(int count) const {
    Candidate candidate{.stages = count, .batch = problem_.constraints.batches.front()};
    for (int k = 0; k < count; ++k) candidate.devices.push_back({k});
    return candidate;
  }
  void limit(double memory) {
    for (Device& device : problem_.cluster.devices) device.memory = memory;
  }

  LayerSequence sequence_ = test::sequence_to_choose_from();
  PlanningProblem problem_ = [&] {
    PlanningProblem problem = test::planned_sequence(sequence_, 3, 1e12);
    problem.model.costs = [&](const MicroBatchLengths& lengths) {
      std::vector<LayerCost> costs;
      for (int i = 0; i < sequence_.size(); ++i) {
        const double seconds = static_cast<double>(lengths.frames[0] * (1 + 5 * i % 7));
        costs.push_back({"", seconds, seconds, seconds});
      }
      return costs;
    };
    return problem;
  }();
  Workloads workloads_{problem_};
};

TEST_F(CutCandidate, TriesCutsWithMessagesWholeAndHidden) {
  std::mt19937 random(5);
  int first = 0, second = 0;
  const Candidate candidate = stages(3);
  for (int round = 0; round < 60; ++round) {
    problem_.cluster.overlap = std::uniform_real_distribution(0.0, 1.0)(random);
    problem_.cluster.node_links.front().bandwidth =
        std::uniform_real_distribution(0.5, 30.0)(random);
    const auto ways = chunk_loads(problem_, workload(), candidate);
    const double whole = simulated(candidate, *cut_chunks(ways[0]));
    const double hidden = simulated(candidate, *cut_chunks(ways[1]));
    first += whole < hidden;
    second += hidden < whole;
    const CandidateCut cut = cut_candidate(problem_, workload(), candidate);
    EXPECT_TRUE(cut.fits);
    EXPECT_FALSE(cut.memory_bound);
    EXPECT_EQ(simulated(candidate, cut.begin), std::min(whole, hidden));
    double min = 1e300;
    for (const auto& begin : all_cuts(sequence_.size(), 3))
      min = std::min(min, closed_form(ways[0], begin));
    EXPECT_NEAR(cut.closed_form, min, 1e-9 * min);
  }
  EXPECT_GT(first, 2);
  EXPECT_GT(second, 2);
}

TEST_F(CutCandidate, FitsWhereverACutDoes) {
  const Candidate candidate = stages(3);
  const auto free = cut_candidate(problem_, workload(), candidate);
  std::vector<double> needed;  // by every cut, on its fullest stage
  for (const auto& begin : all_cuts(sequence_.size(), 3))
    needed.push_back(std::ranges::max(StageMemory(problem_, candidate).of_stages(begin)));
  const double wanted = std::ranges::max(StageMemory(problem_, candidate).of_stages(free.begin));
  const double min = std::ranges::min(needed);
  ASSERT_LT(min, wanted);
  for (const double memory : {min - 1, min, wanted - 1, wanted}) {
    limit(memory);
    const CandidateCut cut = cut_candidate(problem_, workload(), candidate);
    EXPECT_EQ(cut.fits, memory >= min);
    EXPECT_EQ(cut.memory_bound, memory >= min && memory < wanted);
    if (memory >= wanted) {
      EXPECT_EQ(cut.begin, free.begin);
      continue;
    }
    EXPECT_DOUBLE_EQ(cut.lacking_bytes, wanted - memory);
    EXPECT_EQ(StageMemory(problem_, candidate).too_full(cut.begin).has_value(), !cut.fits);
    EXPECT_TRUE(cut.recomputed.empty());
    if (cut.fits) {
      EXPECT_GT(cut.closed_form, free.closed_form);
    }
  }
}

TEST_F(CutCandidate, RecomputesOnlyWhereTheChoiceIsFree) {
  const Candidate candidate = stages(2);
  double min = 1e300;
  for (const auto& begin : all_cuts(sequence_.size(), 2))
    min = std::min(min, std::ranges::max(StageMemory(problem_, candidate).of_stages(begin)));
  limit(min - 1);
  EXPECT_FALSE(cut_candidate(problem_, workload(), candidate).fits);
  const CandidateCut cut = cut_candidate(problem_, workload(), candidate, Recomputing::free);
  ASSERT_TRUE(cut.fits);
  EXPECT_GT(std::ranges::count(cut.recomputed, true), 0);
  Candidate chosen = candidate;
  chosen.begin = cut.begin;
  chosen.recomputed = cut.recomputed;
  EXPECT_FALSE(StageMemory(problem_, chosen).too_full(cut.begin));

  Candidate again = candidate;
  again.begin = cut.begin;
  EXPECT_TRUE(recompute_to_fit(problem_, workload(), again));
  EXPECT_EQ(again.recomputed, cut.recomputed);
  limit(1e12);
  EXPECT_TRUE(recompute_to_fit(problem_, workload(), again));
  EXPECT_TRUE(again.recomputed.empty());
  limit(100);
  again.recomputed = cut.recomputed;
  EXPECT_FALSE(recompute_to_fit(problem_, workload(), again));
  EXPECT_EQ(again.recomputed, cut.recomputed);
}

TEST_F(CutCandidate, SeeksNoMemoryOnceTheTimeIsOver) {
  const Candidate candidate = stages(2);
  CandidateEstimator estimator(problem_, workload());
  CutCache known;
  const auto at = [&](double seconds, Recomputing recomputing) {
    const TimeLimit time(seconds, [now = 0.0]() mutable { return now++; });  // a second a question
    return cut_candidate(problem_, workload(), candidate, recomputing, {estimator, known, &time});
  };
  EXPECT_FALSE(at(0, Recomputing::as_chosen).ended);  // it fits as it is
  const double fastest = std::ranges::max(
      StageMemory(problem_, candidate).of_stages(at(0, Recomputing::as_chosen).begin));
  limit(fastest - 1);
  for (const auto recomputing : {Recomputing::as_chosen, Recomputing::free}) {
    EXPECT_TRUE(at(1e9, recomputing).fits);
    EXPECT_FALSE(at(1e9, recomputing).ended);
    EXPECT_FALSE(at(0, recomputing).fits);
    EXPECT_TRUE(at(0, recomputing).ended);
    CandidateCut cut{.ended = true};
    for (double questions = 1; cut.ended; ++questions) {
      cut = at(questions, recomputing);
      EXPECT_TRUE(!cut.fits || cut.closed_form < kInfeasible);
      EXPECT_TRUE(cut.fits || cut.ended);
    }
    EXPECT_TRUE(cut.fits);
  }
}

}  // namespace

}  // namespace penstock::partition
