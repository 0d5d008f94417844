#include "partition/planner/choose/refine_candidate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "partition/planner/choose/cut_candidate.h"
#include "partition/planner/choose/find_best_plan.h"
#include "partition/planner/choose/stage_memory.h"
#include "tests/support/partition/chosen_layers.h"
#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

/// 15 layers that take the same time; the inputs of two recurrences (6 and 10) have large outputs.
class RefineCandidate : public testing::Test {
 protected:
  CandidateResult ranked(std::vector<std::vector<int>> devices, std::vector<int> begin) {
    const int stages = static_cast<int>(devices.size());
    Candidate candidate{.stages = stages,
                        .batch = problem_.constraints.batches.front(),
                        .devices = std::move(devices),
                        .begin = std::move(begin)};
    CandidateEstimate estimate = estimate_candidate(problem_, workload(), candidate);
    return {std::move(candidate), std::move(estimate)};
  }
  const Workload& workload() { return workloads_.of(problem_.constraints.batches.front(), 1); }
  double seconds(const std::vector<std::vector<int>>& devices, const std::vector<int>& begin) {
    return ranked(devices, begin).estimate->step_seconds;
  }

  LayerSequence sequence_ = test::sequence_to_choose_from();
  PlanningProblem problem_ = [&] {
    PlanningProblem problem = test::planned_sequence(sequence_, 4, 1e12);
    problem.model.costs = [&](const MicroBatchLengths& lengths) {
      const auto seconds = static_cast<double>(lengths.frames[0]);
      return std::vector<LayerCost>(sequence_.size(), {"", seconds, seconds, seconds});
    };
    problem.cluster.node_links.front().bandwidth = 5;
    return problem;
  }();
  Workloads workloads_{problem_};
};

TEST_F(RefineCandidate, CrossesPlacesWhereMuchWouldBeSent) {
  const CandidateRefiner refiner(problem_, workload());
  const std::vector<std::vector<int>> devices{{0}, {1}};
  double best = 1e300;
  std::vector<double> of_cut(sequence_.size() + 1, 1e300);
  for (int cut = 1; cut < sequence_.size(); ++cut) {
    of_cut[cut] = seconds(devices, {0, cut, sequence_.size()});
    best = std::min(best, of_cut[cut]);
  }
  int stuck = 0;
  for (int cut = 1; cut < sequence_.size(); ++cut) {
    CandidateResult one = ranked(devices, {0, cut, sequence_.size()});
    while (refiner.move_boundaries(one)) {
    }
    EXPECT_EQ(one.estimate->step_seconds, seconds(devices, one.candidate.begin));
    EXPECT_EQ(one.estimate->step_seconds, best) << cut;
    stuck += of_cut[cut] > best && of_cut[cut] <= of_cut[cut - 1] && of_cut[cut] <= of_cut[cut + 1];
  }
  EXPECT_GT(stuck, 0) << "no cut would have been left by single layers";
}

TEST_F(RefineCandidate, BeginsFromTheClosedFormsCutsToo) {
  const CandidateRefiner refiner(problem_, workload());
  CandidateResult moved = ranked({{0}, {1}, {2}}, {0, 1, 2, sequence_.size()}), refined = moved;
  while (refiner.move_boundaries(moved)) {
  }
  refiner.refine_cut(refined);
  EXPECT_LT(refined.estimate->step_seconds, moved.estimate->step_seconds);
  for (const ChunkCutProblem& way : chunk_loads(problem_, workload(), refined.candidate))
    EXPECT_LE(refined.estimate->step_seconds, seconds(refined.candidate.devices, *cut_chunks(way)));
}

TEST_F(RefineCandidate, LeavesNoBoundaryThatHelps) {
  const CandidateRefiner refiner(problem_, workload());
  int moved = 0;
  for (int one = 1; one < sequence_.size(); ++one)
    for (int two = one + 1; two < sequence_.size(); ++two)
      for (int three = two + 1; three < sequence_.size(); ++three) {
        CandidateResult refined =
            ranked({{0}, {1}, {2}, {3}}, {0, one, two, three, sequence_.size()});
        const std::vector<int> begin = refined.candidate.begin;
        refiner.refine_cut(refined);
        moved += refined.candidate.begin != begin;
        EXPECT_FALSE(refiner.move_boundaries(refined)) << one << " " << two << " " << three;
      }
  EXPECT_GT(moved, 200);
}

// Far from good cuts, and where messages take as long as passes, the moves left out count most.
TEST_F(RefineCandidate, LosesNothingByMovesThatShortenFirstSteps) {
  const CandidateRefiner all(problem_, workload());
  const CandidateRefiner some(problem_, workload(), Moves::shortening_first_step);
  int starts = 0, refined = 0;
  double worst = 1;
  for (int one = 1; one < sequence_.size(); ++one)
    for (int two = one + 1; two < sequence_.size(); ++two)
      for (int three = two + 1; three < sequence_.size(); ++three) {
        const CandidateResult start =
            ranked({{0}, {1}, {2}, {3}}, {0, one, two, three, sequence_.size()});
        CandidateResult best = start, quick = start;
        all.refine_cut(best);
        some.refine_cut(quick);
        EXPECT_LE(quick.estimate->step_seconds, start.estimate->step_seconds);
        refined += quick.candidate.begin != start.candidate.begin;
        while (all.move_boundaries(quick)) {
        }
        ++starts;
        worst = std::max(worst, quick.estimate->step_seconds / best.estimate->step_seconds);
      }
  EXPECT_GT(refined, 200);
  RecordProperty("starts", starts);
  RecordProperty("worst", std::to_string(worst));
  EXPECT_LE(worst, 1 + 1e-12);  // rounding of a simulated step
}

TEST_F(RefineCandidate, ExchangesDevicesOfASmallCluster) {
  problem_.cluster.devices[2].speed = 3;
  CandidateResult one = ranked({{0}, {1}}, {0, 7, sequence_.size()});
  const double before = one.estimate->step_seconds;
  CandidateRefiner(problem_, workload()).refine(one);
  EXPECT_LT(one.estimate->step_seconds, before);
  EXPECT_TRUE(one.candidate.devices[0][0] == 2 || one.candidate.devices[1][0] == 2);
  EXPECT_EQ(one.estimate->step_seconds, seconds(one.candidate.devices, one.candidate.begin));
}

TEST_F(RefineCandidate, StaysWithinMemory) {
  const std::vector<std::vector<int>> devices{{0}, {1}, {2}};
  const Candidate any{
      .stages = 3, .batch = problem_.constraints.batches.front(), .devices = devices};
  const LeastFullCut min = min_full_cut(StageMemory(problem_, any), sequence_.size());
  const CandidateRefiner refiner(problem_, workload());
  const CandidateResult start = ranked(devices, min.begin);
  CandidateResult free = start, tight = start;
  refiner.refine(free);
  for (Device& device : problem_.cluster.devices) device.memory = min.bytes;
  EXPECT_TRUE(StageMemory(problem_, free.candidate).too_full(free.candidate.begin));
  refiner.refine(tight);
  EXPECT_FALSE(StageMemory(problem_, tight.candidate).too_full(tight.candidate.begin));
  EXPECT_LT(free.estimate->step_seconds, tight.estimate->step_seconds);
}

TEST_F(RefineCandidate, AlikePlacementsShareACut) {
  // Hosts 1 and 2 are alike, but for a ten-thousandth that their links were measured to differ.
  problem_.cluster.exact_links.assign(9, {.latency = 1, .bandwidth = 5});
  problem_.cluster.exact_links[2].bandwidth = 5.0005;
  problem_.cluster.exact_links[6].bandwidth = 5.0005;
  const std::vector<std::vector<int>> to_1{{0}, {1}}, to_2{{0}, {2}};
  const std::vector<int> good{0, 8, sequence_.size()}, worse{0, 9, sequence_.size()};
  std::vector<CandidateResult> all{ranked(to_2, good), ranked(to_1, worse)};
  ASSERT_LT(all[0].estimate->step_seconds, all[1].estimate->step_seconds);
  const CandidateRefiner refiner(problem_, workload());
  refiner.share_cuts(all);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].candidate.devices, to_2);
  EXPECT_EQ(all[1].candidate.begin, good);
  EXPECT_EQ(all[1].estimate->step_seconds, seconds(to_1, good));

  // Each placement keeps its own cut where the cut makes a difference.
  problem_.cluster.devices[2].speed = 3;
  const std::vector<int> uneven{0, 4, sequence_.size()};
  ASSERT_LT(seconds(to_2, uneven), seconds(to_2, good));
  ASSERT_LT(seconds(to_1, good), seconds(to_1, uneven));
  std::vector<CandidateResult> unlike{ranked(to_2, uneven), ranked(to_1, good)};
  refiner.share_cuts(unlike);
  EXPECT_EQ(unlike[0].candidate.begin, uneven);
  EXPECT_EQ(unlike[1].candidate.begin, good);
}

class RankCandidates : public testing::Test {
 protected:
  /// Three devices, each pair with a link of its own, one way as the other.
  PlanningProblem problem(double memory) const {
    PlanningProblem problem = test::planned_sequence(sequence_, 3, memory);
    for (const double rate : {1.0, 500.0, 90.0, 500.0, 1.0, 200.0, 90.0, 200.0, 1.0})
      problem.cluster.exact_links.push_back({.latency = 1, .bandwidth = rate});
    return problem;
  }
  static Candidate three_stages(const PlanningProblem& problem) {
    return {.stages = 3, .batch = problem.constraints.batches.front()};
  }

  LayerSequence sequence_ = test::small_sequence();
};

TEST_F(RankCandidates, OrdersEveryPlacementByItsSimulatedStep) {
  const PlanningProblem problem = this->problem(1e9);
  const auto ranked = rank_candidates(problem, three_stages(problem), 100);
  std::set<std::vector<std::vector<int>>> distinct;
  for (const CandidateResult& r : ranked) {
    distinct.insert(r.candidate.devices);
    EXPECT_EQ(r.candidate.begin.size(), 4u);
    Workloads workloads(problem);
    EXPECT_EQ(
        r.estimate->step_seconds,
        estimate_candidate(problem, workloads.of(r.candidate.batch, 1), r.candidate).step_seconds);
  }
  EXPECT_EQ(distinct.size(), 6u);
  EXPECT_TRUE(
      std::ranges::is_sorted(ranked, {}, [](const auto& r) { return r.estimate->step_seconds; }));
  // The stage in the middle is on the device whose links are fast.
  EXPECT_EQ(ranked.front().candidate.devices[1], std::vector<int>{1});
}

TEST_F(RankCandidates, FirstIsNoWorseThanTheBestPlan) {
  PlanningProblem problem = this->problem(1e9);
  problem.constraints.schedules = {"1f1b"};
  problem.constraints.stages = 3;
  problem.constraints.replicas = 1;
  const BestPlan best_plan = find_best_plan(problem);
  const auto ranked = rank_candidates(problem, best_plan.candidate(), 1);
  ASSERT_EQ(ranked.size(), 1u);
  EXPECT_LE(ranked.front().estimate->step_seconds, best_plan.estimate().step_seconds);
}

TEST_F(RankCandidates, HasNothingWhereNothingFits) {
  const PlanningProblem problem = this->problem(100);
  EXPECT_TRUE(rank_candidates(problem, three_stages(problem), 5).empty());
}

}  // namespace

}  // namespace penstock::partition
