#include "runtime/planning/mean_times.h"

#include <gtest/gtest.h>

#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "partition/planner/cost/cost_model.h"
#include "partition/planner/simulate/step_estimate.h"
#include "runtime/pipeline/session.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {
namespace {

class MeanTimes : public testing::Test {
 protected:
  MeanTimes() {
    config_.model = {.features = 17,
                     .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 7, .layers = 2}};
    sequence_ = partition::build_model(config_.model, 9);
    shape_.micro_batches = {{180, 70}};
    shape_.labels = 9;
    // Six sizes of the first of two steps, five of the second.
    shape_.by_size = {{{303, 121}, {280}}, {{200}, {141, 140}}, {{151, 90}, {150}},
                      {{101}, {77, 13}},   {{61}, {60}},        {{41}}};
    begin_ = {0, 3, 7, sequence_.size()};
  }

  std::vector<std::vector<partition::ChunkTimes>> times(int own) const {
    return mean_times_by_size(sequence_, config_, shape_, costs_of_middling(), begin_, own);
  }
  std::vector<partition::LayerCost> costs_of_middling() const {
    auto costs = computed_costs(sequence_, config_, shape_);
    for (partition::LayerCost& cost : costs) cost.backward_weight *= factor_;
    return costs;
  }

  /// Returns the mean seconds of a chunk's pass, by the costs themselves.
  double mean(double partition::ChunkTimes::*pass, std::size_t chunk,
              const std::vector<std::vector<std::int64_t>>& micro_batches) const {
    const layers::BackendSizes sizes = backend_sizes(config_);
    const partition::CostModel computed =
        partition::analytic_cost_model(sequence_, sizes, partition::default_rates(sizes));
    double sum = 0;
    for (const auto& frames : micro_batches)
      sum += partition::chunk_times(begin_, computed({.frames = frames}), {})[chunk].*pass;
    return sum / static_cast<double>(micro_batches.size());
  }

  configs::Config config_;
  partition::LayerSequence sequence_;
  RunShape shape_;
  std::vector<int> begin_;
  double factor_ = 1;
};

TEST_F(MeanTimes, FollowTheStepsSizesForOneReplica) {
  const auto found = times(6);
  ASSERT_EQ(found.size(), 3u);
  for (std::size_t chunk = 0; chunk < 3; ++chunk) {
    ASSERT_EQ(found[chunk].size(), 6u);
    for (std::size_t size = 0; size < 6; ++size)
      for (auto pass : {&partition::ChunkTimes::forward, &partition::ChunkTimes::backward_input,
                        &partition::ChunkTimes::backward_weight})
        EXPECT_DOUBLE_EQ(found[chunk][size].*pass, mean(pass, chunk, shape_.by_size[size]));
  }
}

TEST_F(MeanTimes, AverageAsManySizesAsReplicas) {
  config_.pipeline.replicas = 4;
  const auto found = times(3);
  const auto forward = &partition::ChunkTimes::forward;
  EXPECT_DOUBLE_EQ(
      found[1][0].forward,
      mean(forward, 1, {{303, 121}, {280}, {200}, {141, 140}, {151, 90}, {150}, {101}, {77, 13}}));
  EXPECT_DOUBLE_EQ(found[1][1].forward, mean(forward, 1, {{61}, {60}, {41}}));
  EXPECT_DOUBLE_EQ(found[1][2].forward, mean(forward, 1, {{41}}));  // of a size that no step has
}

TEST_F(MeanTimes, HaveTheFramesOfTheSameMicroBatches) {
  EXPECT_EQ(mean_frames_by_size(shape_, 1, 6),
            (std::vector<double>{352, 240.5, 195.5, 95.5, 60.5, 41}));
  EXPECT_EQ(mean_frames_by_size(shape_, 4, 3), (std::vector<double>{220.875, 54, 41}));
}

TEST_F(MeanTimes, FollowWhatWasMeasured) {
  factor_ = 3;
  const auto found = times(1);
  EXPECT_NEAR(found[2][0].backward_weight,
              3 * mean(&partition::ChunkTimes::backward_weight, 2, shape_.by_size[0]), 1e-15);
  EXPECT_DOUBLE_EQ(found[2][0].forward,
                   mean(&partition::ChunkTimes::forward, 2, shape_.by_size[0]));
}

TEST_F(MeanTimes, IncludeRecomputationOfChosenLayers) {
  const auto once = times(1);
  config_.pipeline.recompute = "stage";
  const auto again = times(1);
  for (std::size_t chunk = 0; chunk < 3; ++chunk) {
    EXPECT_DOUBLE_EQ(again[chunk][0].forward, once[chunk][0].forward);
    EXPECT_DOUBLE_EQ(again[chunk][0].backward_input,
                     once[chunk][0].backward_input + once[chunk][0].forward);
  }
}

}  // namespace
}  // namespace penstock::runtime
