#include "partition/planner/choose/candidate_estimate.h"

#include <gtest/gtest.h>

#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

/// Whether it is; if not, estimate() comes to the same with the pipelines that this predicted.
bool takes(CandidateEstimator& estimator, const Candidate& candidate, double seconds,
           const std::vector<int>& slowest) {
  PredictedPipelines known;
  if (estimator.takes(candidate, seconds, slowest, known)) return true;
  const CandidateEstimate anew = estimator.estimate(candidate);
  const CandidateEstimate again = estimator.estimate(candidate, 1000, std::move(known));
  EXPECT_EQ(again.step_seconds, anew.step_seconds);
  EXPECT_EQ(again.slowest, anew.slowest);
  EXPECT_EQ(again.busy, anew.busy);
  return false;
}

class CandidateEstimateOf : public testing::Test {
 protected:
  CandidateEstimate estimate(Candidate candidate) {
    candidate.batch = problem_.constraints.batches.front();
    Workloads workloads(problem_);
    return estimate_candidate(problem_, workloads.of(candidate.batch, candidate.replicas),
                              candidate);
  }

  LayerSequence sequence_ = test::small_sequence();
  PlanningProblem problem_ = test::planned_sequence(sequence_, 4, 1e9);
};

TEST_F(CandidateEstimateOf, OneDeviceIsBusyAllTheTime) {
  const CandidateEstimate alone = estimate({.devices = {{1}}, .begin = {0, 4}});
  EXPECT_DOUBLE_EQ(alone.step_seconds, 30 * (54 + 58) / 2.0);
  EXPECT_DOUBLE_EQ(alone.busy[0], alone.step_seconds);
  EXPECT_DOUBLE_EQ(alone.speed(), 16 / alone.step_seconds);
  problem_.cluster.devices[1].speed = 2;
  EXPECT_DOUBLE_EQ(estimate({.devices = {{1}}, .begin = {0, 4}}).step_seconds,
                   alone.step_seconds / 2);
  problem_.cluster.devices[1].speed = 1;
  problem_.model.reading = {{CostTerm::constant, CostTerm::frames}, {0.5, 0.25}};
  EXPECT_DOUBLE_EQ(estimate({.devices = {{1}}, .begin = {0, 4}}).step_seconds,
                   alone.step_seconds + 4 * 0.5 + (54 + 58) / 2.0 * 0.25);
}

TEST_F(CandidateEstimateOf, SlowestReplicaAndReductionSetThePace) {
  // Micro-batches 0 and 2 of 12 + 16 frames are the first replica's, 14 + 12 the second's.
  const CandidateEstimate two = estimate({.replicas = 2, .devices = {{0, 1}}, .begin = {0, 4}});
  // The last backward takes 2 × (3 + 4 + 1 + 2) for each of 16 or 12 frames, then 17 or 13: long
  // enough for all sums but the first layer's, which is whole last: a ring of two of 36 weights.
  const double ring = 2 * (1 + 4.0 * 36 / 2 / 500);
  const double parameters = 4 * (4 * 3 * 3 + 12 * 10 + 10 + 10 * 5 + 5);  // bytes
  EXPECT_DOUBLE_EQ(two.step_seconds, 30 * (28 + 30) / 2.0 + ring);
  EXPECT_DOUBLE_EQ(two.busy[0], 30 * (28 + 30) / 2.0);
  problem_.cluster.node_links.front().bandwidth = 1;  // more than a backward hides
  EXPECT_GT(estimate({.replicas = 2, .devices = {{0, 1}}, .begin = {0, 4}}).step_seconds,
            two.step_seconds + 100);
  problem_.cluster.node_links.front().bandwidth = 500;
  problem_.model.step_s = 3;
  problem_.model.parameter_s = 0.25;
  EXPECT_DOUBLE_EQ(estimate({.replicas = 2, .devices = {{0, 1}}, .begin = {0, 4}}).step_seconds,
                   two.step_seconds + 3 + 0.25 * parameters / sizeof(float));
}

// The last gradients are whole long after all others, so that of their sums only one is seen.
TEST_F(CandidateEstimateOf, SharedUpdatesTakeTheirPartAndAGather) {
  problem_.model.parameter_s = 0.25;
  Candidate candidate{.replicas = 2, .devices = {{0, 1}}, .begin = {0, 4}};
  const double whole = estimate(candidate).step_seconds;
  candidate.shards_optimizer = true;
  const double update = 0.25 * (4 * 3 * 3 + 12 * 10 + 10 + 10 * 5 + 5);
  const double half_a_sum = 1 + 4.0 * 36 / 2 / 500;
  const double gather = 3 + 4.0 * (36 + 130 + 55) / 2 / 500;  // of the three layers that learn
  EXPECT_NEAR(estimate(candidate).step_seconds, whole - update / 2 - half_a_sum + gather, 1e-9);
  problem_.constraints.adds_whole_gradients = true;
  EXPECT_NEAR(estimate(candidate).step_seconds, whole - update / 2 + gather, 1e-9);
  problem_.constraints.adds_whole_gradients = false;
  problem_.model.sizes.compute = layers::DType::bf16;  // of which layers read halves
  EXPECT_LT(estimate(candidate).step_seconds, whole - update / 2 - half_a_sum + gather - 0.3);
}

TEST_F(CandidateEstimateOf, OneReplicaIsEnoughToRefuteAChoice) {
  const Candidate candidate{.replicas = 2,
                            .batch = problem_.constraints.batches.front(),
                            .devices = {{0, 1}},
                            .begin = {0, 4}};
  Workloads workloads(problem_);
  CandidateEstimator estimator(problem_, workloads.of(candidate.batch, 2));
  const CandidateEstimate whole = estimator.estimate(candidate);
  EXPECT_EQ(whole.slowest, (std::vector{0, 0}));
  const double seconds = whole.step_seconds;
  EXPECT_TRUE(takes(estimator, candidate, seconds * (1 - 1e-9), whole.slowest));
  EXPECT_FALSE(takes(estimator, candidate, seconds * (1 + 1e-9), whole.slowest));
  EXPECT_FALSE(takes(estimator, candidate, seconds * (1 - 1e-9), {1, 1}));  // they are faster
  EXPECT_FALSE(takes(estimator, candidate, seconds * (1 - 1e-9), {0}));     // half of the steps
}

TEST_F(CandidateEstimateOf, RefutesOnlyWhatIsNoShorter) {
  problem_.model.step_s = 3;
  problem_.model.parameter_s = 0.25;
  int pipelines = 0, refuted = 0;
  for (const double bandwidth : {500.0, 3.0, 0.7})
    for (const int replicas : {1, 2})
      for (const char* schedule : {"1f1b", "zb-h1"}) {
        problem_.cluster.node_links.front().bandwidth = bandwidth;
        Candidate candidate{.stages = 2,
                            .replicas = replicas,
                            .batch = problem_.constraints.batches.front(),
                            .schedule = schedule,
                            .devices = {{0, 1}, {2, 3}}};
        for (auto& devices : candidate.devices) devices.resize(static_cast<std::size_t>(replicas));
        Workloads workloads(problem_);
        CandidateEstimator estimator(problem_, workloads.of(candidate.batch, replicas));
        candidate.begin = {0, 2, 4};
        const CandidateEstimate middle = estimator.estimate(candidate);
        for (const int cut : {1, 2, 3}) {
          candidate.begin[1] = cut;
          const double seconds = estimator.estimate(candidate).step_seconds;
          EXPECT_FALSE(takes(estimator, candidate, seconds * (1 + 1e-9), middle.slowest));
          ++pipelines;
          refuted += takes(estimator, candidate, seconds * (1 - 1e-9), middle.slowest);
        }
      }
  // One that is alone is refuted but where messages of its meet on a link.
  EXPECT_GT(refuted, pipelines / 2);
  EXPECT_LT(refuted, pipelines);
}

TEST_F(CandidateEstimateOf, OffloadHasListsAndCopiesOfItsOwn) {
  Candidate candidate{.batch = problem_.constraints.batches.front(),
                      .schedule = "gpipe",
                      .devices = {{0}},
                      .begin = {0, 4}};
  problem_.cluster.devices[0].host_bandwidth = 1;  // copies are longer than all passes
  Workloads workloads(problem_);
  CandidateEstimator estimator(problem_, workloads.of(candidate.batch, 1));
  const CandidateEstimate whole = estimator.estimate(candidate);
  candidate.resident = 2;
  const double seconds = estimator.estimate(candidate).step_seconds;
  EXPECT_GT(seconds, 1.5 * whole.step_seconds);
  EXPECT_DOUBLE_EQ(seconds, estimate(candidate).step_seconds);
  candidate.resident = 0;
  EXPECT_DOUBLE_EQ(estimator.estimate(candidate).step_seconds, whole.step_seconds);
  candidate.resident = 4;  // as many as there are
  EXPECT_DOUBLE_EQ(estimator.estimate(candidate).step_seconds, whole.step_seconds);
}

TEST_F(CandidateEstimateOf, ReplicasThatShareAdaptersWaitForEachOther) {
  const Candidate candidate{
      .stages = 2, .replicas = 2, .devices = {{0, 1}, {2, 3}}, .begin = {0, 2, 4}};
  problem_.cluster.nodes = {"a", "b"};
  problem_.cluster.devices[2].node = problem_.cluster.devices[3].node = 1;
  problem_.cluster.node_links.assign(4, {.latency = 1, .bandwidth = 2});
  const double own = estimate(candidate).step_seconds;
  problem_.cluster.adapters = {0, 1, 2, 3};
  EXPECT_DOUBLE_EQ(estimate(candidate).step_seconds, own);
  problem_.cluster.adapters = {0, 0, 1, 1};
  const double shared = estimate(candidate).step_seconds;
  EXPECT_GT(shared, 1.02 * own);
  problem_.cluster.adapters.clear();
  problem_.cluster.node_links.assign(4, {.latency = 1, .bandwidth = 1});
  EXPECT_LE(shared, estimate(candidate).step_seconds);
}

TEST_F(CandidateEstimateOf, LinksBetweenStagesTakeTheirTime) {
  const Candidate candidate{.stages = 2, .devices = {{0}, {2}}, .begin = {0, 2, 4}};
  const double near = estimate(candidate).step_seconds;
  problem_.cluster.node_links.front().latency += 10;
  EXPECT_NEAR(estimate(candidate).step_seconds, near + 20, 1e-9);
  EXPECT_EQ(ranks_of_chunks({.stages = 2, .schedule = "zb-v"}), (std::vector{0, 1, 1, 0}));
}

}  // namespace
}  // namespace penstock::partition
