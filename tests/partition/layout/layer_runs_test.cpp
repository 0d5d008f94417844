#include "partition/layout/layer_runs.h"

#include <gtest/gtest.h>

namespace penstock::partition {
namespace {

TEST(LayerRuns, AreAsLongAsTheyCanBe) {
  EXPECT_TRUE(runs_of({}).empty());
  EXPECT_TRUE(runs_of({false, false}).empty());
  EXPECT_EQ(runs_of({true, true, true}), (std::vector<LayerRun>{{0, 3}}));
  EXPECT_EQ(runs_of({true, false, true, true, false, false, true}),
            (std::vector<LayerRun>{{0, 1}, {2, 4}, {6, 7}}));
}

TEST(LayerRuns, OfAPartAreCutAtItsEnds) {
  const ChosenLayers chosen{true, true, false, true, true};
  EXPECT_EQ(chosen_among(chosen, 1, 4), (ChosenLayers{true, false, true}));
  EXPECT_TRUE(chosen_among({}, 1, 4).empty());
}

}  // namespace
}  // namespace penstock::partition
