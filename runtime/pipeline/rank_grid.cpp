#include "runtime/pipeline/rank_grid.h"

#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "base/quantities.h"
#include "comm/communicator.h"

namespace penstock::runtime {

// Any two pipelines are disjoint, and so are any two groups of replicas. A pipeline and a group of
// replicas have exactly one rank in common. A plan of 3 stages and 2 replicas places 6 ranks in a
// grid, for example:
//
//              replica 0   replica 1
//   stage 0    0           3            ← replicas(): ranks that add their gradients
//   stage 1    1           4
//   stage 2    2           5
//              ↑ pipeline(): ranks that exchange activations
RankGrid::RankGrid(comm::Communicator& world, const partition::Plan& plan)
    : world_(world), ranks_(plan.ranks) {
  if (plan.world_size() != world.size())
    throw CommError(fmt::format("the plan places {}, but the job has {}",
                                counted(plan.world_size(), "rank"), world.size()));
  here_ = plan.place_of(world.rank());
  std::vector<int> pipeline;
  for (const auto& stage : plan.ranks) pipeline.push_back(stage[here_.replica]);
  pipeline_ = comm::make_group(world, {pipeline, 1});
  replicas_ = comm::make_group(world, {plan.ranks[here_.stage], 2});
}

}  // namespace penstock::runtime
