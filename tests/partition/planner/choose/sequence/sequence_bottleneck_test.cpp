#include "partition/planner/choose/sequence/sequence_bottleneck.h"

#include <gtest/gtest.h>

namespace penstock::partition {
namespace {

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
