#include "runtime/pipeline/rank_grid.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/collectives.h"
#include "comm/threads.h"

namespace penstock::runtime {
namespace {

partition::Plan scattered() {
  partition::Plan plan;
  plan.ranks = {{3, 1}, {0, 4}, {5, 2}};  // stages of a replica need not lie together, nor in order
  return plan;
}

TEST(RankGrid, PlacesRanksAsThePlanSays) {
  const partition::Plan plan = scattered();
  comm::run_as_threads({.ranks = 6}, [&](comm::Communicator& world) {
    const RankGrid grid(world, plan);
    EXPECT_EQ(plan.ranks[grid.here().stage][grid.here().replica], world.rank());
    EXPECT_EQ(grid.rank_of(grid.here()), world.rank());
    EXPECT_EQ(grid.rank_of({.stage = 2, .replica = 1}), 2);
    EXPECT_EQ(grid.pipeline().size(), 3);
    EXPECT_EQ(grid.pipeline().rank(), grid.here().stage);
    EXPECT_EQ(grid.replicas().size(), 2);
    EXPECT_EQ(grid.replicas().rank(), grid.here().replica);

    std::vector<double> mark(6);
    mark[world.rank()] = 1;
    comm::sum_disjoint(grid.pipeline(), mark);
    for (int r = 0; r < 6; ++r)
      EXPECT_EQ(mark[r], plan.place_of(r).replica == grid.here().replica ? 1 : 0);
  });
}

TEST(RankGrid, RejectsAPlanForAnotherNumberOfRanks) {
  comm::run_as_threads({.ranks = 2}, [](comm::Communicator& world) {
    EXPECT_THROW(RankGrid(world, scattered()), CommError);
  });
}

}  // namespace
}  // namespace penstock::runtime
